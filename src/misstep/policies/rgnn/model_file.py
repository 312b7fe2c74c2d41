"""A relational network as two files: `NAME.safetensors` with the weights and `NAME.json` with its shape.

The JSON object has `format` ("misstep-rgnn"), `version` (1), `width` (numbers for each object, even), `rounds`,
`aggregation` ("smooth-max"), `predicates` (a list of [name, arity]; types count as predicates of arity 1 if the
network was trained so) and `solvable` (whether there is a second head). The tensors are single precision, matrices
have a row for each output, and each layer L below has `L.weight` and `L.bias`. With k numbers for each object:

    state.P.in, state.P.out      for each predicate P of arity m > 0: (m k, m k); messages of atoms of the state
    goal.P.in, goal.P.out        the same for atoms of the goal
    update.in, update.out        (2k, 2k) and (k, 2k); inputs: aggregated messages, then the object itself
    value.object.in, .out        (k, k) each; for each object, then summed over the objects
    value.state.in, .out         (k, k) and (1, k)
    solvable....                 the same four layers, if `solvable`

Between the two layers of each pair stands a rectified linear unit. `docs/policies/rgnn.md` has the formulas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes, write_bytes
from misstep.policies.gnn.checkpoint import (
    GOAL,
    MODULES,
    UPDATE,
    Checkpoint,
    Relation,
    weight_shapes,
)
from misstep.policies.safetensors import (
    METADATA,
    check_sizes,
    encode_tensors,
    read_tensor,
    split_file,
)
from misstep.policies.torch_extra import torch

FORMAT, VERSION, AGGREGATION = "misstep-rgnn", 1, "smooth-max"
KIND = "a relational network (NAME.safetensors beside NAME.json)"
MAX_BYTES = 512 * 2**20
MAX_JSON_BYTES = 2**20
HEADS = {"readout": "value", "solvable_readout": "solvable"}
PARTS = {"pre.0": "object.in", "pre.2": "object.out", "post.0": "state.in", "post.2": "state.out"}


def files(path: Path) -> tuple[Path, Path]:
    """Weights and shape; the path is either of them, or both without the ending."""
    stem = path.with_suffix("") if path.suffix in (".json", ".safetensors") else path
    return stem.with_name(stem.name + ".safetensors"), stem.with_name(stem.name + ".json")


def names(relations: tuple[Relation, ...], has_solvable: bool) -> Iterator[tuple[str, str]]:
    """The name of each layer in a checkpoint, and here."""
    for index, relation in enumerate(relations):
        if relation.arity > 0:
            goal = index >= len(relations) // 2
            own = f"goal.{relation.name[: -len(GOAL)]}" if goal else f"state.{relation.name}"
            yield f"{MODULES}.{index}.0", f"{own}.in"
            yield f"{MODULES}.{index}.2", f"{own}.out"
    yield f"{UPDATE}.0", "update.in"
    yield f"{UPDATE}.2", "update.out"
    for head, own in HEADS.items():
        if head == "readout" or has_solvable:
            for part, name in PARTS.items():
                yield f"{head}.{part}", f"{own}.{name}"


def read_model(path: Path) -> Checkpoint:
    """The network of two files."""
    weights_file, shape_file = files(path)
    text = read_bytes(shape_file, MAX_JSON_BYTES, KIND)
    content = read_bytes(weights_file, MAX_BYTES, KIND)
    relations, width, rounds, has_solvable = _shape(text, str(shape_file))
    where = str(weights_file)
    header, data = split_file(content, where, KIND)
    shapes = weight_shapes(relations, width, has_solvable)
    own = dict(names(relations, has_solvable))
    check_sizes(header, data, len(header), where, KIND)
    tensors: dict[str, NDArray[Any]] = {}
    for name, size in shapes.items():
        layer, _, kind = name.rpartition(".")
        tensors[name] = read_tensor(header, f"{own[layer]}.{kind}", data, where, KIND, size=size)
    extra = len(header.keys() - {METADATA}) - len(shapes)
    if extra:
        _refuse(f"there are {extra} tensors that the network has no use for", where)
    weights = {name: torch.from_numpy(np.array(t, np.float32)) for name, t in tensors.items()}
    digest = hashlib.sha256(hashlib.sha256(text).digest() + content).hexdigest()
    return Checkpoint(relations, width, rounds, weights, has_solvable, digest)


def write_model(network: Checkpoint, path: Path) -> tuple[Path, Path]:
    """Write both files; returns their paths."""
    weights_file, shape_file = files(path)
    tensors = {
        f"{own}.{kind}": network.weights[f"{layer}.{kind}"].numpy()
        for layer, own in names(network.relations, network.has_solvable)
        for kind in ("weight", "bias")
    }
    half = network.relations[: len(network.relations) // 2]
    shape = {
        "format": FORMAT,
        "version": VERSION,
        "width": network.width,
        "rounds": network.rounds,
        "aggregation": AGGREGATION,
        "predicates": [[relation.name, relation.arity] for relation in half],
        "solvable": network.has_solvable,
    }
    write_bytes(weights_file, encode_tensors(tensors, {}))
    write_bytes(shape_file, (json.dumps(shape, indent=2) + "\n").encode())
    return weights_file, shape_file


def _shape(text: bytes, where: str) -> tuple[tuple[Relation, ...], int, int, bool]:
    try:
        shape = parse_json(text)
    except ValueError:
        _refuse("this is not JSON, or it is cut off", where)
    if not isinstance(shape, dict) or shape.get("format") != FORMAT:
        _refuse(f"the format is not {FORMAT!r}", where)
    for key, wanted in (("version", VERSION), ("aggregation", AGGREGATION)):
        if shape.get(key) != wanted:
            raise UnsupportedError(
                f"{key} is {shape.get(key)!r:.40}", where=where, expected=repr(wanted)
            )
    width = _number(shape, "width", 2, 4096, where)
    if width % 2:
        _refuse(f"width is {width}, an odd number", where)
    if not isinstance(shape.get("solvable"), bool):
        _refuse("solvable is not true or false", where)
    listed = shape.get("predicates")
    if not isinstance(listed, list) or not listed:
        _refuse("there is no list of predicates", where)
    state = []
    for entry in listed:
        match entry:
            case [str(name), int(arity)] if 0 <= arity <= 16 and not isinstance(arity, bool):
                state.append(Relation(name.lower(), arity))
            case _:
                _refuse(f"{entry!r:.60} is not a predicate and its arity", where)
    if len({relation.name for relation in state}) != len(state):
        _refuse("a predicate is listed twice", where)
    goal = [Relation(relation.name + GOAL, relation.arity) for relation in state]
    return (*state, *goal), width, _number(shape, "rounds", 0, 10_000, where), shape["solvable"]


def _number(shape: dict[str, Any], key: str, low: int, high: int, where: str) -> int:
    value = shape.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        _refuse(f"{key} is {value!r:.40}, not a number from {low} to {high}", where)
    return value


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


__all__ = ["files", "read_model", "write_model"]
