"""What can be told about an ONNX file without onnxruntime: whether it names other files, and its operators.

Tensors may lie elsewhere on the disk ("external data"). Such a file would make onnxruntime read whatever path stands
in it, and the digest of the policy would not cover what was read. Operators that draw random numbers make a policy
that is no function of the state. Both are refused. An ONNX file is a message of protocol buffers: fields with a number
and a wire type, of which some are messages themselves. `MESSAGES` has the fields that can lead to a tensor; all others
are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

Field = tuple[int, int | memoryview]

MAX_DEPTH = 100  # of messages in messages, as in the readers of protocol buffers
MAX_FIELDS = 4_000_000  # of all messages: a field takes two bytes, and an entry of a list many more
MODEL = "ModelProto"
_TENSOR = "TensorProto"
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor
_NODE, _NODE_INPUT, _NODE_OPERATOR = "NodeProto", 1, 4
RANDOM = frozenset(
    (
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
        *("Multinomial", "Bernoulli"),
    )
)
_DROPOUT, _DROPOUT_INPUTS = "Dropout", 3  # with a third input it may draw numbers as in training
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


@dataclass(frozen=True)
class Contents:
    """What keeps a model from being a policy, both found in one pass over the file."""

    names_other_files: bool  # a tensor lies in another file
    random_operator: str | None  # one that may draw random numbers, if there is one


def scan(content: bytes) -> Contents:
    """What there is to know of a model; ValueError if this is no message at all."""
    elsewhere, random = False, None
    for kind, fields in _messages(content):
        if kind == _TENSOR:
            elsewhere = elsewhere or any(
                field == _EXTERNAL_DATA or (field == _DATA_LOCATION and value != 0)
                for field, value in fields
            )
        elif kind == _NODE:
            random = random or _draws(fields)
    return Contents(elsewhere, random)


def _draws(fields: list[Field]) -> str | None:
    """The name of the operator of a node, if it may draw random numbers."""
    inputs = sum(field == _NODE_INPUT for field, _ in fields)
    for field, value in fields:
        if field == _NODE_OPERATOR and isinstance(value, memoryview):
            name = bytes(value).decode("ascii", "replace")
            if name in RANDOM or (name == _DROPOUT and inputs >= _DROPOUT_INPUTS):
                return name
    return None


def _messages(content: bytes) -> Iterator[tuple[str, list[Field]]]:
    """The messages that can lead to a tensor or a node, each with its kind and its fields."""
    waiting: list[tuple[str, memoryview, int]] = [(MODEL, memoryview(content), 0)]
    left = MAX_FIELDS
    while waiting:
        kind, message, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} messages in each other")
        fields = list(islice(_fields(message), left + 1))
        left -= len(fields)
        if left < 0:
            raise ValueError(f"more than {MAX_FIELDS:,} fields")
        inner = MESSAGES[kind]
        waiting += [
            (inner[field], value, depth + 1)
            for field, value in fields
            if field in inner and isinstance(value, memoryview)
        ]
        yield kind, fields


def _fields(message: memoryview) -> Iterator[Field]:
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
    if position < len(message) and message[position] < 0x80:  # nearly all are of one byte
        return message[position], position + 1
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


__all__ = ["Contents", "scan"]
