"""The effects of edges: their possible destinations, and the values that their assignments write.

Assignments have an index. Those of one index read the same values and write together, the smallest index first. A
variable that is assigned twice at one index is an error, also by two edges that are taken together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from misstep.checking.jani.declarations import Cells
from misstep.checking.jani.errors import ModelError
from misstep.checking.jani.expressions import Function, Registers, position
from misstep.checking.jani.operators import Scalar
from misstep.checking.jani.types import Type

TOLERANCE = 1e-6  # of the sum of the probabilities of an edge
MOST_COMBINATIONS = 1_000_000  # of edges, destinations and chosen values of a label in one state
MOST_TRIED = 100_000_000  # values for them; the engine leaves out some that cannot be chosen


@dataclass(frozen=True, slots=True)
class Assignment:
    level: int  # called index in JANI
    target: Cells
    indices: tuple[Function, ...]  # into the target
    values: tuple[Function, ...]  # one for each cell that is written
    type: Type
    # A non-deterministic one writes any of these whose condition holds, and has no values.
    choices: tuple[tuple[Scalar, Function], ...] | None = None

    def writes(self, registers: Registers) -> Iterable[tuple[int, Scalar]]:
        target = self.target
        for index in self.indices:
            assert isinstance(target, tuple)
            target = target[position(index(registers), len(target))]
        for cell, value in zip(flat_cells(target), self.values, strict=True):
            yield cell, self.type.store(value(registers))

    def alternatives(self, registers: Registers) -> list[Assignment]:
        """The assignment itself, or one for each value that a non-deterministic one can write."""
        if self.choices is None:
            return [self]
        found = [value for value, fits in self.choices if fits(registers)]
        if not found:
            raise ModelError("no value satisfies the condition of a non-deterministic assignment")
        return [replace(self, values=(_constantly(value),), choices=None) for value in found]


def _constantly(value: Scalar) -> Function:
    return lambda _: value


@dataclass(frozen=True, slots=True)
class Destination:
    probability: Function
    strictly: Function  # the same, with an error where something underflows to 0
    location: int
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    guard: Function
    destinations: tuple[Destination, ...]

    def possible(self, registers: Registers) -> list[tuple[float, Destination]]:
        """The destinations of positive probability."""
        weighed = [(float(d.probability(registers)), d) for d in self.destinations]
        if any(probability < 0 for probability, _ in weighed):
            raise ModelError("a probability is negative")
        total = sum(probability for probability, _ in weighed)
        if abs(total - 1) > TOLERANCE:
            raise ModelError(f"the probabilities of an edge sum to {total}")
        for probability, d in weighed:
            if probability == 0:
                d.strictly(registers)  # an error if the outcome is possible, but too unlikely
        return [(probability, d) for probability, d in weighed if probability > 0]


class Effort:
    """What a label takes in one state. A small file can ask for more than anybody can wait for."""

    def __init__(self) -> None:
        self._combinations = self._tried = 0

    def combine(self) -> None:
        self._combinations += 1
        check_combinations(self._combinations)

    def attempt(self, values: int) -> None:
        self._tried += values
        if self._tried > MOST_TRIED:
            raise ModelError(f"a label has more than {MOST_TRIED:,} values to try in one state")


def fire(
    edges: Sequence[Edge], registers: Registers, effort: Effort
) -> Iterable[tuple[float, Sequence[Destination], Registers]]:
    """Take edges together: for each combination of destinations its probability, and the values afterwards."""
    for combination in product(*(edge.possible(registers) for edge in edges)):
        probability = 1.0
        for share, _ in combination:
            probability *= share
        destinations = [destination for _, destination in combination]
        for share, after in _assigned(destinations, registers, effort):
            yield probability * share, destinations, after


def check_combinations(count: int) -> None:
    if count > MOST_COMBINATIONS:
        raise ModelError(f"a label has more than {MOST_COMBINATIONS:,} outcomes in one state")


def _assigned(
    destinations: Iterable[Destination], registers: Registers, effort: Effort
) -> list[tuple[float, Registers]]:
    """The possible values afterwards: several, equally likely, if an assignment is non-deterministic."""
    assignments = [a for destination in destinations for a in destination.assignments]
    reached = [(1.0, registers)]
    for level in sorted({assignment.level for assignment in assignments}):
        together = [assignment for assignment in assignments if assignment.level == level]
        after: list[tuple[float, Registers]] = []
        for share, values in reached:
            effort.attempt(sum(len(assignment.choices or ()) for assignment in together))
            options = [assignment.alternatives(values) for assignment in together]
            check_combinations(len(after) + math.prod(map(len, options)))
            ways = list(product(*options))
            after += [(share / len(ways), assign(way, values)) for way in ways]
        reached = after
    return reached


def assign(assignments: Iterable[Assignment], registers: Registers) -> Registers:
    """The values after assignments of one index."""
    written: dict[int, Scalar] = {}
    for assignment in assignments:
        for cell, value in assignment.writes(registers):
            if cell in written:
                raise ModelError("a variable is assigned twice at one index")
            written[cell] = value
    after = list(registers)
    for cell, value in written.items():
        after[cell] = value
    return tuple(after)


def flat_cells(cells: Cells) -> Iterable[int]:
    if isinstance(cells, tuple):
        for cell in cells:
            yield from flat_cells(cell)
    else:
        yield cells


__all__ = ["Assignment", "Destination", "Edge", "Effort", "assign", "fire", "flat_cells"]
