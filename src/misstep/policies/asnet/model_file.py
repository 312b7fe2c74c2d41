"""ASNets as files: safetensors that also hold the shape of the domain and the sizes of the network.

A safetensors file is the length of a JSON header (8 bytes, little-endian), the header, and the raw
numbers. It is simple enough to be read here with numpy alone, so that using a policy needs no
further package; and reading it executes nothing, whoever wrote it. Pickled checkpoints (.pt, .ckpt)
can execute anything and are refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes, write_bytes
from misstep.policies.asnet.shape import SchemaShape, Shape, Slot, difference
from misstep.policies.asnet.weights import MAX_HIDDEN, MAX_LAYERS, Floats, Weights, tensor_shapes

FORMAT = "misstep-asnet"
VERSION = 1
KIND = "an ASNet written by Misstep (.safetensors)"
MAX_FILE_BYTES = 512 * 2**20
MAX_HEADER_BYTES = 16 * 2**20
METADATA = "__metadata__"
KEY = "misstep"  # of our JSON among the metadata, whose values must be text


def write_model(weights: Weights, path: Path) -> str:
    """Write the file, all or nothing; returns its digest."""
    content = encode(weights)
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def read_model(path: Path) -> tuple[Weights, str]:
    """The weights of a file and its digest (SHA-256)."""
    content = read_bytes(path, MAX_FILE_BYTES, KIND)
    return decode(content, str(path)), hashlib.sha256(content).hexdigest()


def require_shape(weights: Weights, shape: Shape, where: str) -> None:
    """Refuse weights of another domain, saying what differs."""
    found = difference(weights.shape, shape)
    if found:
        raise UnsupportedError(
            f"the task does not belong to the domain {weights.shape.domain} of this ASNet: {found}",
            where=where,
            hint="use the domain file it was trained with",
        )


def encode(weights: Weights) -> bytes:
    about = {
        "format": FORMAT,
        "version": VERSION,
        "hidden": weights.hidden,
        "layers": weights.layers,
        "domain": _shape_to_json(weights.shape),
        "training": weights.training,
    }
    # Compact and sorted: the digest of a file depends on its content only.
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), allow_nan=False)
    header: dict[str, Any] = {METADATA: {KEY: text}}
    parts: list[bytes] = []
    offset = 0
    for name, size in tensor_shapes(weights.shape, weights.hidden, weights.layers).items():
        data = np.ascontiguousarray(weights.tensors[name], dtype="<f4").reshape(size).tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(size),
            "data_offsets": [offset, offset + len(data)],
        }
        parts.append(data)
        offset += len(data)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return len(encoded).to_bytes(8, "little") + encoded + b"".join(parts)


def decode(content: bytes, where: str) -> Weights:
    header, data = _split(content, where)
    about = _about(header, where)
    shape = _shape_from_json(about, where)
    hidden = _integer(about, "hidden", MAX_HIDDEN, where)
    layers = _integer(about, "layers", MAX_LAYERS, where)
    sizes = tensor_shapes(shape, hidden, layers)
    extra = sorted(header.keys() - sizes.keys() - {METADATA})
    if extra:
        _refuse(f"there is a tensor {extra[0]} that the network has no use for", where)
    tensors = {name: _tensor(header, name, size, data, where) for name, size in sizes.items()}
    training = about.get("training")
    return Weights(shape, hidden, layers, tensors, training if isinstance(training, dict) else {})


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


def _split(content: bytes, where: str) -> tuple[dict[str, Any], memoryview]:
    """The header and the bytes after it."""
    # The length of a header can begin with the same bytes as a pickle, but what follows cannot.
    has_header = content[8:9] == b"{"
    if not has_header and (content[:2] == b"PK" or content[:1] == b"\x80"):
        raise UnsupportedError(
            "this is a pickled PyTorch checkpoint, which can run any code when it is read",
            where=where,
            expected=KIND,
            hint="it was not opened",
        )
    if len(content) < 8:
        _refuse("the file is too short", where)
    length = int.from_bytes(content[:8], "little")
    if length > MAX_HEADER_BYTES or not has_header:
        _refuse("this is not a safetensors file", where)
    if 8 + length > len(content):
        _refuse("the file is cut off within its header", where)
    try:
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
    except (ValueError, RecursionError):
        _refuse("the header is no JSON", where)
    if not isinstance(header, dict):
        _refuse("the header is no JSON object", where)
    return header, memoryview(content)[8 + length :]


def _about(header: dict[str, Any], where: str) -> dict[str, Any]:
    metadata = header.get(METADATA)
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        _refuse("a safetensors file, but not one of Misstep: it does not describe a network", where)
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        _refuse("the description of the network is no JSON", where)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else about
        _refuse(f"the format is {found!r:.60}, not {FORMAT!r}", where)
    if about.get("version") != VERSION:
        raise UnsupportedError(
            f"version {about.get('version')!r:.60} of the format",
            where=where,
            expected=f"version {VERSION}",
            hint="a newer Misstep may read it",
        )
    return about


def _integer(about: dict[str, Any], key: str, maximum: int, where: str) -> int:
    value = about.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= maximum:
        _refuse(f"{key} is {value!r:.60}, not a number from 1 to {maximum}", where)
    return value


def _tensor(
    header: dict[str, Any], name: str, size: tuple[int, ...], data: memoryview, where: str
) -> Floats:
    entry = header.get(name)
    if not isinstance(entry, dict):
        _refuse(f"the tensor {name} is missing", where)
    if entry.get("dtype") != "F32":
        _refuse(f"the tensor {name} has the type {entry.get('dtype')!r:.60}, not 'F32'", where)
    if entry.get("shape") != list(size):
        _refuse(
            f"the tensor {name} has the shape {entry.get('shape')!r:.60}, not {list(size)}", where
        )
    offsets = entry.get("data_offsets")
    if not (
        isinstance(offsets, list)
        and len(offsets) == 2
        and all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in offsets)
        and offsets[1] - offsets[0] == 4 * math.prod(size)
    ):
        _refuse(f"the tensor {name} has the offsets {offsets!r:.60}", where)
    begin, end = offsets
    if end > len(data):
        _refuse(f"the file is cut off: the tensor {name} ends beyond it", where)
    tensor = np.frombuffer(data[begin:end], dtype="<f4").astype(np.float32).reshape(size)
    if not np.isfinite(tensor).all():
        _refuse(f"the tensor {name} holds infinite or undefined numbers", where)
    return tensor


def _shape_to_json(shape: Shape) -> dict[str, Any]:
    return {
        "name": shape.domain,
        "predicates": [[name, arity] for name, arity in shape.predicates],
        "schemas": [
            {
                "name": schema.name,
                "parameters": schema.parameters,
                "slots": [[slot.predicate, *slot.terms] for slot in schema.slots],
            }
            for schema in shape.schemas
        ],
    }


def _shape_from_json(about: dict[str, Any], where: str) -> Shape:
    try:
        domain = about["domain"]
        shape = Shape(
            domain=_text(domain["name"]),
            predicates=tuple((_text(name), _count(arity)) for name, arity in domain["predicates"]),
            schemas=tuple(
                SchemaShape(
                    name=_text(schema["name"]),
                    parameters=_count(schema["parameters"]),
                    slots=tuple(_slot(*slot) for slot in schema["slots"]),
                )
                for schema in domain["schemas"]
            ),
        )
    except (KeyError, TypeError, ValueError):
        _refuse("the description of the domain is malformed", where)
    names = shape.predicate_index
    for schema in shape.schemas:
        for slot in schema.slots:
            if slot.predicate not in names:
                _refuse(f"the schema {schema.name} mentions an unknown {slot.predicate}", where)
    return shape


def _slot(predicate: Any, *terms: Any) -> Slot:
    return Slot(_text(predicate), tuple(t if isinstance(t, str) else _count(t) for t in terms))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


__all__ = ["decode", "encode", "read_model", "require_shape", "write_model"]
