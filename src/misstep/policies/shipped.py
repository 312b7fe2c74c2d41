"""The trained policies that come with Misstep as test subjects. They are good but not perfect.

`asnets/` has policies for tasks of the built-in domains, `safety/` networks and ensembles of trees for the built-in
models; both are named `shipped:NAME`, and the task or model tells which is meant.
Each has a card, a JSON file that says how it was trained, how good it is, and which bugs are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.asnet.model_file import read_model
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import difference, shape_of
from misstep.policies.policy import Policy
from misstep.tasks.task import Task

SHIPPED = Path(__file__).parents[1] / "shipped"
# The kinds, each a folder, and the file that a policy of this kind is loaded from.
SUFFIXES = MappingProxyType({"asnets": ".safetensors", "safety": ".jani2nnet"})


@dataclass(frozen=True)
class Shipped:
    name: str
    file: Path  # what a policy is loaded from
    card: Mapping[str, Any]


def shipped_names(kind: str) -> list[str]:
    return sorted(path.stem for path in (SHIPPED / kind).glob("*" + SUFFIXES[kind]))


def shipped(kind: str, name: str) -> Shipped:
    """The network of that name; the kind is `asnets` or `safety`."""
    known = shipped_names(kind)
    if name not in known:
        what = {"asnets": "planning tasks", "safety": "models"}[kind]
        raise UsageError(
            f"no network {name!r} for {what} is shipped", expected="one of " + ", ".join(known)
        )
    card = json.loads((SHIPPED / kind / f"{name}.json").read_text(encoding="utf-8"))
    return Shipped(name, SHIPPED / kind / (name + SUFFIXES[kind]), MappingProxyType(card))


def load(argument: str, task: Task) -> Policy:
    """The policy `shipped:NAME`."""
    own = shipped("asnets", argument)
    weights, digest = read_model(own.file)
    found = difference(weights.shape, shape_of(task.lifted))
    if found:
        raise UnsupportedError(
            f"the task is not of the domain {argument} as Misstep generates it: {found}",
            where=f"shipped:{argument}",
            hint=f"misstep generate {argument} makes tasks for it",
        )
    return ASNetPolicy(task, weights, name=f"shipped:{argument}", digest=digest)


__all__ = ["SHIPPED", "Shipped", "load", "shipped", "shipped_names"]
