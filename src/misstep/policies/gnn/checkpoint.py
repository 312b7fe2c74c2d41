"""Reading published checkpoints of relational networks (Ståhlberg, Bonet, Geffner, KR 2022).

A checkpoint is a zip archive with a pickle inside. It is untrusted, so nothing in it is ever
executed: our own reader (`torch_archive`) makes tensors and plain containers, and everything else is
refused. The shapes of the weights are then compared with the hyper-parameters of the checkpoint.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.gnn.relations import GOAL, Relation
from misstep.policies.torch_archive import foreign
from misstep.policies.torch_archive import read_checkpoint as read_archive
from misstep.policies.torch_extra import torch
from misstep.policies.torch_pickle import Foreign

MAX_BYTES = 512 * 2**20
KIND = "a checkpoint of a relational network (a zip file written by PyTorch)"
MODULES = "model.relation_network.relation_modules"
UPDATE = "model.relation_network.update"


@dataclass(frozen=True)
class Checkpoint:
    """A network as it is stored: its shape and its weights, checked against each other."""

    relations: tuple[Relation, ...]
    """The relations of the state, then those of the goal in the same order."""
    width: int
    """Numbers per object."""
    rounds: int
    weights: dict[str, Any]
    has_solvable: bool
    """Whether the network also says if a state is solvable at all."""
    digest: str
    """SHA-256 of the file."""

    def layer(self, name: str) -> tuple[Any, Any]:
        """Weight and bias of a linear layer."""
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def relation_layers(self, relation: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        return self.layer(f"{MODULES}.{relation}.0"), self.layer(f"{MODULES}.{relation}.2")

    def update_layers(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        return self.layer(f"{UPDATE}.0"), self.layer(f"{UPDATE}.2")

    def readout_layers(self, head: str) -> list[tuple[Any, Any]]:
        """Two layers per object and two after the sum; `head` is `readout` or `solvable_readout`."""
        return [self.layer(f"{head}.{part}") for part in ("pre.0", "pre.2", "post.0", "post.2")]


def read_checkpoint(path: Path) -> Checkpoint:
    """Reads and checks a checkpoint file."""
    content = read_bytes(path, MAX_BYTES, KIND)
    where = str(path)
    stored = read_archive(content, where, KIND, MAX_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    _check_plain([stored], where)
    if not isinstance(stored, dict):
        raise _malformed("the checkpoint is not a dictionary", where)
    _check_plain(stored.values(), where)
    parameters, state = stored.get("hyper_parameters"), stored.get("state_dict")
    for key, part in (("hyper_parameters", parameters), ("state_dict", state)):
        if not isinstance(part, dict):
            raise _malformed(f"the checkpoint has no dictionary {key!r}", where)
        _check_plain(part.values(), where)
    assert isinstance(parameters, dict)
    assert isinstance(state, dict)
    aggregation = parameters.get("aggregation", "max")
    if not isinstance(aggregation, str) or aggregation != "max":
        raise UnsupportedError(
            f"the network aggregates messages by {_shown(aggregation)}",
            where=where,
            expected="'max'",
        )
    relations = _relations(parameters, where)
    width = _number(parameters, "hidden_size", 2, 4096, where)
    rounds = _number(parameters, "iterations", 0, 10_000, where)
    if width % 2:
        raise _malformed(f"hidden_size is {width}, an odd number", where)
    has_solvable = any(str(name).startswith("solvable_readout.") for name in state)
    shapes = weight_shapes(relations, width, has_solvable)
    if 4 * sum(map(math.prod, shapes.values())) > MAX_BYTES:  # weights may share their numbers
        raise UnsupportedError(
            f"a network of {len(relations):,} predicates and {width} numbers per object",
            where=where,
            expected=f"at most {MAX_BYTES >> 20} MiB of weights",
        )
    weights = {name: _weight(state, name, shape, where) for name, shape in shapes.items()}
    return Checkpoint(relations, width, rounds, weights, has_solvable, digest)


def _relations(parameters: dict[Any, Any], where: str) -> tuple[Relation, ...]:
    listed = parameters.get("predicates")
    if not isinstance(listed, (list, tuple)) or not listed or len(listed) % 2:
        raise _malformed("hyper_parameters has no list 'predicates' of even length", where)
    relations = []
    for entry in listed:
        match entry:
            case (str(name), int(arity)) if 0 <= arity <= 16 and not isinstance(arity, bool):
                relations.append(Relation(name.lower(), arity))
            case _:
                raise _malformed(f"predicate {len(relations)} is no name with an arity", where)
    half = len(relations) // 2
    for here, there in zip(relations[:half], relations[half:], strict=True):
        if there != Relation(here.name + GOAL, here.arity):
            raise _malformed(
                f"the predicate {here.name}/{here.arity} has no goal version "
                f"{here.name}{GOAL}/{here.arity} at its place",
                where,
            )
    if len(set(relations)) != len(relations):
        raise _malformed("a predicate is listed twice", where)
    return tuple(relations)


def _number(parameters: dict[Any, Any], key: str, low: int, high: int, where: str) -> int:
    value = parameters.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _malformed(f"{key} is {_shown(value)}, not a number from {low} to {high}", where)
    return value


def weight_shapes(
    relations: tuple[Relation, ...], width: int, has_solvable: bool
) -> dict[str, tuple[int, ...]]:
    """Every weight that the network needs."""
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, inputs: int, outputs: int) -> None:
        shapes[f"{name}.weight"] = (outputs, inputs)
        shapes[f"{name}.bias"] = (outputs,)

    for index, relation in enumerate(relations):
        if relation.arity > 0:  # The network does not see nullary predicates.
            for layer in (0, 2):
                linear(f"{MODULES}.{index}.{layer}", relation.arity * width, relation.arity * width)
    linear(f"{UPDATE}.0", 2 * width, 2 * width)
    linear(f"{UPDATE}.2", 2 * width, width)
    for head in ("readout", "solvable_readout") if has_solvable else ("readout",):
        for part in ("pre.0", "pre.2", "post.0"):
            linear(f"{head}.{part}", width, width)
        linear(f"{head}.post.2", width, 1)
    return shapes


def _weight(state: dict[Any, Any], name: str, shape: tuple[int, ...], where: str) -> Any:
    weight = state.get(name)
    if not isinstance(weight, np.ndarray):
        raise _malformed(f"the weight {name} is missing", where)
    if weight.shape != shape:
        raise InputFormatError(
            f"the weight {name} has the shape {weight.shape}",
            where=where,
            expected=f"{shape}, by the hyper-parameters",
        )
    if weight.dtype.kind != "f":
        raise _malformed(f"the weight {name} is not an array of floating-point numbers", where)
    with np.errstate(over="ignore"):  # what single precision does not hold is refused below
        numbers = np.array(weight, dtype=np.float32, order="C")
    if not np.isfinite(numbers).all():
        raise InputFormatError(
            f"the weight {name} has entries that are not finite",
            where=where,
            expected="finite numbers",
            hint="the training diverged; take an earlier checkpoint",
        )
    return torch.from_numpy(numbers)


def _check_plain(values: Iterable[Any], where: str) -> None:
    for value in values:
        if isinstance(value, Foreign):
            foreign(value, where)


def _shown(value: object) -> str:
    """A plain value; others may be nested without end, or have digits without end."""
    plain = isinstance(value, (str, float)) or (isinstance(value, int) and abs(value) < 2**64)
    return f"{value!r:.40}" if plain else f"a {type(value).__name__}"


def _malformed(what: str, where: str) -> InputFormatError:
    return InputFormatError(
        what, where=where, expected=KIND, hint="was it written by another program?"
    )


__all__ = [
    "GOAL",
    "MODULES",
    "UPDATE",
    "Checkpoint",
    "Relation",
    "read_checkpoint",
    "weight_shapes",
]
