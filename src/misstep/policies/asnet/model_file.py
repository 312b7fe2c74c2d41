"""Files of ASNets: safetensors that also hold the shape of the domain and the sizes of the network.

Pickled checkpoints (.pt, .ckpt) can execute any code and are refused.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes, write_bytes
from misstep.policies.asnet.shape import SchemaShape, Shape, Slot, difference
from misstep.policies.asnet.weights import MAX_HIDDEN, MAX_LAYERS, Weights, tensor_shapes
from misstep.policies.safetensors import (
    METADATA,
    check_sizes,
    encode_tensors,
    read_tensor,
    split_file,
)

FORMAT = "misstep-asnet"
VERSION = 1
KIND = "an ASNet written by Misstep (.safetensors)"
MAX_FILE_BYTES = 512 * 2**20
KEY = "misstep"  # key of our JSON in the metadata, whose values must be text


def write_model(weights: Weights, path: Path) -> str:
    """Write the file of a training, all or nothing; returns its digest."""
    content = encode(weights)
    write_bytes(path, content, follow=False)
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
    # Compact and sorted, so that the digest of a file depends only on its content.
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), allow_nan=False)
    sizes = tensor_shapes(weights.shape, weights.hidden, weights.layers)
    tensors = {name: weights.tensors[name].reshape(size) for name, size in sizes.items()}
    return encode_tensors(tensors, {KEY: text})


def decode(content: bytes, where: str) -> Weights:
    header, data = split_file(content, where, KIND)
    about = _about(header, where)
    shape = _shape_from_json(about, where)
    hidden = _integer(about, "hidden", MAX_HIDDEN, where)
    layers = _integer(about, "layers", MAX_LAYERS, where)
    sizes = tensor_shapes(shape, hidden, layers)
    extra = sorted(header.keys() - sizes.keys() - {METADATA})
    if extra:
        _refuse(f"there is a tensor {extra[0]} that the network has no use for", where)
    check_sizes(header, data, len(sizes), where, KIND)
    tensors = {
        name: read_tensor(header, name, data, where, KIND, size=size).astype(np.float32)
        for name, size in sizes.items()
    }
    training = about.get("training")
    return Weights(shape, hidden, layers, tensors, training if isinstance(training, dict) else {})


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


def _about(header: dict[str, Any], where: str) -> dict[str, Any]:
    metadata = header.get(METADATA)
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        _refuse("a safetensors file, but not one of Misstep: it does not describe a network", where)
    try:
        about = parse_json(text)
    except (ValueError, RecursionError):
        _refuse("the description of the network is not JSON", where)
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
