"""Delta debugging as a search that can be interrupted and continued at any step.

Objects are removed first, then goals, then facts, in chunks that are halved until they have one element. If a round has
removed something, the next round begins again with objects, until a round changes nothing. A last round tries every
single removal once more with the translator, so that the result is 1-minimal.

The position of the search is stored with every success. A search that is continued tries the same candidates in the
same order as one that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from misstep.comparison.shrink.legal import Invariants
from misstep.comparison.shrink.problem import Problem
from misstep.errors import InputFormatError

PHASES = ("unused", "objects", "goals", "facts")
REPAIRS_OF_ONE = 6  # ways to complete the state after one object was taken away
REPAIRS_OF_MANY = 2


@dataclass(frozen=True)
class Position:
    """The next candidate of the search."""

    phase: int = 0
    size: int = 0  # of chunks; 0: the phase begins
    index: int = 0  # of the first element of the chunk
    changed: bool = False  # whether this round has taken something away
    exact: bool = False  # whether the translator answers every question
    done: bool = False  # nothing single is left to take away

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: object) -> Position:
        try:
            found = Position(**values) if isinstance(values, dict) else None
        except TypeError:
            found = None
        if found is None or not found.is_sound:
            raise InputFormatError("the position of a search is damaged")
        return found

    @property
    def is_sound(self) -> bool:
        numbers = (self.phase, self.size, self.index)
        marks = (self.changed, self.exact, self.done)
        return (
            all(type(own) is int and 0 <= own < 2**31 for own in numbers)
            and self.phase < len(PHASES)
            and all(type(own) is bool for own in marks)
        )


def is_done(position: object) -> bool:
    """Whether a stored search has nothing left to try; without a position there was nothing to search."""
    return position is None or Position.from_dict(position).done


@dataclass(frozen=True)
class Space:
    """The parts that may be removed from a problem."""

    invariants: Invariants
    legal: str

    def elements(self, phase: str, problem: Problem) -> Sequence[Any]:
        if phase == "goals":
            return problem.goals
        if self.legal == "reachable":
            return ()
        if phase == "facts":
            fluent = self.invariants.fluent
            free = self.legal == "any"
            return [
                fact
                for fact in problem.facts
                if free or fact not in fluent or self.invariants.removable(fact)
            ]
        pinned = problem.pinned
        return [name for name in problem.names if name not in pinned]

    def without(self, phase: str, problem: Problem, gone: Sequence[Any]) -> list[Problem]:
        """The problems without these elements: several if the state has to be completed."""
        if phase == "goals":
            small = problem.without_goals(gone)
            return [small] if small.goals else []
        if phase == "facts":
            return [problem.without_facts(gone)]
        small = problem.without_objects(gone)
        if not small.goals:
            return []
        if self.legal == "any":
            plain = [small]
            ways = self.invariants.repairs(small, REPAIRS_OF_MANY)
            return plain + [way for way in ways if way != small]
        most = REPAIRS_OF_ONE if len(gone) == 1 else REPAIRS_OF_MANY
        return list(self.invariants.repairs(small, most))

    def attempts(
        self, problem: Problem, unused: Sequence[str], position: Position
    ) -> Iterator[tuple[Position, list[Problem]]]:
        """The candidates from a position on, as long as none of them works, each with its position."""
        while not position.done:
            phase = PHASES[position.phase]
            if phase == "unused":
                if not position.exact and not position.index and unused:
                    allowed = set(self.elements("objects", problem))
                    gone = [name for name in unused if name in allowed]
                    ways = self.without("objects", problem, gone) if gone else []
                    yield position, ways
                position = replace(position, phase=1, size=0, index=0)
                continue
            elements = self.elements(phase, problem)
            if position.size == 0:
                first = 1 if position.exact else max(1, len(elements) // 2)
                position = replace(position, size=first, index=0)
            while position.index < len(elements):
                chunk = elements[position.index : position.index + position.size]
                yield position, self.without(phase, problem, chunk)
                position = replace(position, index=position.index + position.size)
            position = self._next(position)

    @staticmethod
    def _next(position: Position) -> Position:
        """After the last chunk of a size."""
        if position.size > 1:
            return replace(position, size=position.size // 2, index=0)
        if position.phase + 1 < len(PHASES):
            return replace(position, phase=position.phase + 1, size=0, index=0)
        if position.changed:
            return replace(position, phase=1, size=0, index=0, changed=False)
        if not position.exact:
            return replace(position, phase=1, size=0, index=0, exact=True)
        return replace(position, done=True)


__all__ = ["PHASES", "Position", "Space", "is_done"]
