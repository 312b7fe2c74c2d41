"""The kinds of steps of an experiment. A kind is a module with these names:

    WORLD                what its rows are: models, or planning tasks
    VERSION              raised when the same unit would give another result; older results are then done again
    KEYS                 what a step of this kind can say in a definition
    COLUMNS              of its observations, beside those of all (`row`, `seed` and the row's tags)
    units(step, row, seed)        the parts that a step has for one row and seed
    run(payload)                  the result of a part: a function of the payload alone, but for measured times
    observations(payload, result) the result as flat records
    joined(observations)          optional: adds columns that depend on all observations of a step
    longest(payload)              seconds that a part takes at most by its own limits; None: no limit
    run_in(payload, place)        optional, instead of `run`: the same with its own folder, from which a part that was
                                  killed continues; the folder is removed when the result is stored
    finish(folder, parts)         optional: writes files made from all results of a step, below the experiment's
                                  folder; `parts` are (row, seed, payload, result)

A payload and a result are plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from misstep.experiments.expressions import Value
from misstep.experiments.schema import Key

Json = dict[str, Any]
MISSING = "missing"  # the text for something that a subject does not have


@dataclass(frozen=True)
class Part:
    """One piece of a step: the work, its amount, and its name."""

    label: str
    payload: Json
    work: float  # how many runs, questions, paths or states; costs are by this


class Finished(NamedTuple):
    """A part that has a result."""

    row: str
    seed: int
    payload: Json
    result: Json


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
    "training-runs": "misstep.experiments.kinds.training_runs",
    "training-policies": "misstep.experiments.kinds.policies",
    "planning-pools": "misstep.experiments.kinds.pools",
    "planning-rounds": "misstep.experiments.kinds.rounds",
    "planning-biases": "misstep.experiments.kinds.biases",
    "safety-learning": "misstep.experiments.kinds.loops",
    "planning-campaigns": "misstep.experiments.kinds.campaigns",
    "training-lessons": "misstep.experiments.kinds.bug_lessons",
}
# Pieces of commands, which no definition can name: a module with `run(payload)` alone.
COMMANDS = {
    "census": "misstep.experiments.kinds.censuses",
    "training": "misstep.experiments.kinds.repeats",
}
# The rows of each world: a module with ROW_KEYS and `subject(row)`.
WORLDS = {
    "models": "misstep.experiments.kinds.models",
    "planning": "misstep.experiments.kinds.tasks",
    "learning": "misstep.experiments.kinds.learning",
}


class World(Protocol):
    ROW_KEYS: Mapping[str, Key]

    def subject(self, row: Json) -> Json: ...


def kind(name: str) -> Kind:
    return cast(Kind, import_module(KINDS[name]))


def join(name: str, observations: list[dict[str, Value]]) -> None:
    """Add the columns that depend on all observations of a step."""
    joined = getattr(import_module(KINDS[name]), "joined", None)
    if joined is not None:
        joined(observations)


def run_part(name: str, payload: Json, place: Path) -> Json:
    """The result of a part; `place` is its folder, if it needs one."""
    module = import_module((KINDS | COMMANDS)[name])
    run_in: Callable[[Json, Path], Json] | None = getattr(module, "run_in", None)
    if run_in is None:
        return cast(Kind, module).run(payload)
    place.mkdir(parents=True, exist_ok=True)
    return run_in(payload, place)


def finish(name: str, folder: Path, parts: Sequence[Finished]) -> None:
    """Let a kind write the files that are made from all its results."""
    own = getattr(import_module(KINDS[name]), "finish", None)
    if own is not None:
        own(folder, parts)


def world(name: str) -> World:
    return cast(World, import_module(WORLDS[name]))


__all__ = [
    "COMMANDS",
    "KINDS",
    "MISSING",
    "WORLDS",
    "Finished",
    "Json",
    "Kind",
    "Part",
    "World",
    "finish",
    "join",
    "kind",
    "run_part",
    "world",
]
