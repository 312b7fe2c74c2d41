"""What a step of an experiment can be. A kind is a module with these names:

    WORLD                what its rows are: models, or planning tasks
    VERSION              raised when the same unit would give another result; older results are then done again
    KEYS                 what a step of this kind can say in a definition
    COLUMNS              of its observations, beside those of all (`row`, `seed` and the row's tags)
    units(step, row, seed)        the parts that a step has for one row and seed
    run(payload)                  the result of a part: a function of the payload alone, but for measured times
    observations(payload, result) the result as flat records
    joined(observations)          optional: adds to the observations of a whole step what only all together tell
    longest(payload)              seconds that a part takes at most by its own limits; None: no limit

A payload and a result are plain JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from misstep.experiments.expressions import Value
from misstep.experiments.schema import Key

Json = dict[str, Any]
MISSING = "missing"  # of a subject: what there is none of, in words


@dataclass(frozen=True)
class Part:
    """One piece of a step: what to do, how much that is, and what to call it."""

    label: str
    payload: Json
    work: float  # how many runs, questions, paths or states; costs are by this


class Kind(Protocol):
    WORLD: str
    VERSION: int
    KEYS: Mapping[str, Key]
    COLUMNS: tuple[str, ...]

    def units(self, step: Json, row: Json, seed: int) -> Iterator[Part]: ...

    def run(self, payload: Json) -> Json: ...

    def observations(self, payload: Json, result: Json) -> Iterator[dict[str, Value]]: ...

    def longest(self, payload: Json) -> float | None: ...


KINDS = {
    "safety-fuzzing": "misstep.experiments.kinds.fuzzing",
    "safety-deciding": "misstep.experiments.kinds.deciding",
    "safety-faults": "misstep.experiments.kinds.blaming",
    "planning-oracles": "misstep.experiments.kinds.oracles",
    "planning-biases": "misstep.experiments.kinds.biases",
}
# The rows of each world: a module with ROW_KEYS and `subject(row)`.
WORLDS = {
    "models": "misstep.experiments.kinds.models",
    "planning": "misstep.experiments.kinds.tasks",
}


class World(Protocol):
    ROW_KEYS: Mapping[str, Key]

    def subject(self, row: Json) -> Json: ...


def kind(name: str) -> Kind:
    return cast(Kind, import_module(KINDS[name]))


def join(name: str, observations: list[dict[str, Value]]) -> None:
    """Add what only all observations of a step together tell."""
    joined = getattr(import_module(KINDS[name]), "joined", None)
    if joined is not None:
        joined(observations)


def world(name: str) -> World:
    return cast(World, import_module(WORLDS[name]))


__all__ = ["KINDS", "MISSING", "WORLDS", "Json", "Kind", "Part", "World", "join", "kind", "world"]
