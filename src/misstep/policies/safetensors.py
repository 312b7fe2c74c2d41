"""Read and write safetensors files with numpy alone.

A safetensors file is the length of a JSON header (8 bytes, little-endian), the header, and the raw
numbers. It is simple enough to be read here, so that using a policy needs no further package; and
reading it executes nothing, whoever wrote it. Pickled checkpoints (.pt, .ckpt) can execute anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError

METADATA = "__metadata__"
MAX_HEADER_BYTES = 16 * 2**20
MAX_DIMENSIONS = 8
MAX_SIZE = 2**40  # of one dimension
TYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2"}
Header = dict[str, Any]


def split_file(content: bytes, where: str, kind: str) -> tuple[Header, memoryview]:
    """The header and the bytes after it; `kind` is the expected kind of file."""
    # The length of a header can begin with the same bytes as a pickle, but what follows cannot.
    has_header = content[8:9] == b"{"
    if not has_header and (content[:2] == b"PK" or content[:1] == b"\x80"):
        raise UnsupportedError(
            "this is a pickled PyTorch checkpoint, which can run any code when it is read",
            where=where,
            expected=kind,
            hint="it was not opened",
        )
    if len(content) < 8:
        _refuse("the file is too short", where, kind)
    length = int.from_bytes(content[:8], "little")
    if length > MAX_HEADER_BYTES or not has_header:
        _refuse("this is not a safetensors file", where, kind)
    if 8 + length > len(content):
        _refuse("the file is cut off within its header", where, kind)
    try:
        header = parse_json(content[8 : 8 + length])
    except (ValueError, RecursionError):
        _refuse("the header is not JSON", where, kind)
    if not isinstance(header, dict):
        _refuse("the header is not a JSON object", where, kind)
    return header, memoryview(content)[8 + length :]


def check_sizes(header: Header, data: memoryview, most: int, where: str, kind: str) -> None:
    """Refuse too many tensors, or tensors that share bytes: read one by one, they could fill the memory."""
    tensors = [entry for name, entry in header.items() if name != METADATA]
    if len(tensors) > most:
        _refuse(f"the file has {len(tensors):,} tensors, more than {most:,}", where, kind)
    size = 0
    for entry in tensors:
        offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
        if _whole_numbers(offsets) and len(offsets) == 2:
            size += max(0, offsets[1] - offsets[0])
    if size > len(data):
        _refuse("tensors overlap each other or end beyond the file", where, kind)


def check_places(header: Header, data: memoryview, where: str, kind: str) -> None:
    """Refuse tensors that do not follow each other through the whole file, as the library of the format does."""
    places = []
    for entry in (entry for name, entry in header.items() if name != METADATA):
        offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
        if _whole_numbers(offsets) and len(offsets) == 2:
            places.append((offsets[0], offsets[1]))
    end = 0
    for begin, after in sorted(places):
        if begin != end or after < begin:
            _refuse("tensors overlap each other or leave a gap", where, kind)
        end = after
    if end != len(data):
        _refuse("tensors end beyond the file or before its end", where, kind)


def read_tensor(
    header: Header,
    name: str,
    data: memoryview,
    where: str,
    kind: str,
    *,
    size: tuple[int, ...] | None = None,
    types: Sequence[str] = ("F32",),
) -> NDArray[Any]:
    """A tensor of the file, of the given size if there is one; infinite and undefined numbers are refused."""
    entry = header.get(name)
    if not isinstance(entry, dict):
        _refuse(f"the tensor {name} is missing", where, kind)
    if entry.get("dtype") not in types:
        wanted = " or ".join(repr(t) for t in types)
        _refuse(
            f"the tensor {name} has the type {entry.get('dtype')!r:.60}, not {wanted}", where, kind
        )
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if size is not None and shape != list(size):
        _refuse(f"the tensor {name} has the shape {shape!r:.60}, not {list(size)}", where, kind)
    if not _whole_numbers(shape) or len(shape) > MAX_DIMENSIONS or max(shape, default=0) > MAX_SIZE:
        _refuse(f"the tensor {name} has the shape {shape!r:.60}", where, kind)
    stored = np.dtype(TYPES[entry["dtype"]])
    if not (
        _whole_numbers(offsets)
        and len(offsets) == 2
        and offsets[1] - offsets[0] == stored.itemsize * math.prod(shape)
    ):
        _refuse(f"the tensor {name} has the offsets {offsets!r:.60}", where, kind)
    if size is None and not math.prod(shape):  # other dimensions may be such that no array has them
        shape = [0] * len(shape)
    begin, end = offsets
    if end > len(data):
        _refuse(f"the file is cut off: the tensor {name} ends beyond it", where, kind)
    tensor: NDArray[Any] = np.frombuffer(data[begin:end], dtype=stored).reshape(shape)
    if not np.isfinite(tensor).all():
        _refuse(f"the tensor {name} holds infinite or undefined numbers", where, kind)
    return tensor


def encode_tensors(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Encode single-precision tensors as a file. Its bytes depend only on the content and its order."""
    header: Header = {METADATA: dict(metadata)} if metadata else {}
    parts: list[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        data = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        parts.append(data)
        offset += len(data)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return len(encoded).to_bytes(8, "little") + encoded + b"".join(parts)


def _whole_numbers(listed: object) -> TypeGuard[list[int]]:
    return isinstance(listed, list) and all(
        isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in listed
    )


def _refuse(what: str, where: str, kind: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=kind)


__all__ = [
    "METADATA",
    "Header",
    "check_places",
    "check_sizes",
    "encode_tensors",
    "read_tensor",
    "split_file",
]
