"""Which ONNX files name other files: their tensors may lie elsewhere on the disk ("external data").

Such a file would make onnxruntime read whatever path stands in it, and the digest of the policy would not cover what
was read. So it is refused. An ONNX file is a message of protocol buffers: fields with a number and a wire type, of
which some are messages themselves. `MESSAGES` has the fields that can lead to a tensor; all others are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

MAX_DEPTH = 100  # of messages in messages, as in the readers of protocol buffers
MODEL = "ModelProto"
_TENSOR = "TensorProto"
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor
MESSAGES: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        MODEL: {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
        "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
        "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
        "GraphProto": {1: "NodeProto", 5: _TENSOR, 15: "SparseTensorProto"},
        "NodeProto": {5: "AttributeProto"},
        "AttributeProto": {
            5: _TENSOR,
            6: "GraphProto",
            10: _TENSOR,
            11: "GraphProto",
            22: "SparseTensorProto",
            23: "SparseTensorProto",
        },
        "SparseTensorProto": {1: _TENSOR, 2: _TENSOR},
        _TENSOR: {},
    }
)


def names_other_files(content: bytes) -> bool:
    """Whether a tensor of this model lies in another file; ValueError if this is no message at all."""
    waiting: list[tuple[str, memoryview, int]] = [(MODEL, memoryview(content), 0)]
    while waiting:
        kind, message, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} messages in each other")
        inner = MESSAGES[kind]
        for field, value in _fields(message):
            if kind == _TENSOR and (
                field == _EXTERNAL_DATA or (field == _DATA_LOCATION and value != 0)
            ):
                return True
            if field in inner and isinstance(value, memoryview):
                waiting.append((inner[field], value, depth + 1))
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: their numbers, and an integer or the bytes of each."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        field, wire = key >> 3, key & 7
        if wire == 0:
            number, position = _varint(message, position)
            yield field, number
            continue
        if wire == 2:
            size, position = _varint(message, position)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:  # groups, which ONNX has none of
            raise ValueError("no message of protocol buffers")
        if size > len(message) - position:
            raise ValueError("the file is cut off")
        yield field, message[position : position + size]
        position += size


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise ValueError("the file is cut off")
        byte = message[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    raise ValueError("no message of protocol buffers")


__all__ = ["names_other_files"]
