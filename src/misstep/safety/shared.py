"""One strategy for all bugs of a batch: taken from the decider, checked once, packed once.

Bugs of a batch lie close together, and what avoids unsafe states from one of them mostly does so from the others. So
the decider is asked for one strategy for all of them: each state that can come up has one label, whoever gets there. It
is checked by the independent checker before anybody sees it, with array operations where the model allows
(`misstep.checking.arrays` says what that means), else state by state. A model that the independent reader cannot read
is asked through the engine, as an object in Python is.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.checking import CheckError
from misstep.checking.arrays import ArrayChecker, NotForArraysError
from misstep.checking.closed import successors
from misstep.checking.jani import SafetyTask
from misstep.checking.shared import MAGIC, SharedStrategy, most_expensive_runs
from misstep.errors import MisstepError
from misstep.safety.decider import Decider
from misstep.safety.system import Radius, System, native_radius
from misstep.safety.witness import fragment
from misstep.tasks.jani.task import JaniTask, State

Numbers = NDArray[np.int64]
_FAST = 1  # of zlib: strategies are many, and packing is no part of what is measured


class Packed(NamedTuple):
    """A strategy as it is stored."""

    states: int
    content: bytes


@dataclass(frozen=True)
class Union:
    """A strategy that was checked."""

    columns: list[NDArray[np.generic]]  # one for each variable
    labels: Numbers
    degrees: Numbers
    targets: Numbers
    starts: Mapping[
        int, int
    ]  # of the states that it was asked for, by their ids: their numbers here

    def __len__(self) -> int:
        return len(self.labels)

    def label(self, id: int) -> int:
        return int(self.labels[self.starts[id]])

    def packed(self) -> Packed:
        return packed(self.columns, self.labels, self.degrees, self.targets)


def packed(
    columns: Sequence[NDArray[np.generic]], labels: Numbers, degrees: Numbers, targets: Numbers
) -> Packed:
    """As `misstep.checking.shared` describes it."""
    head = MAGIC + np.array([len(labels), len(columns), len(targets)], "<u4").tobytes()
    content = b"".join((head, *map(_packed_column, (*columns, labels, degrees, targets))))
    return Packed(len(labels), zlib.compress(content, _FAST))


class UnionChecker:
    """Checks strategies of one model."""

    def __init__(self, task: JaniTask) -> None:
        self._slow: SafetyTask | None = None
        self._arrays: ArrayChecker | None = None
        try:
            self._slow = SafetyTask.from_source(task.source)
            self._arrays = ArrayChecker(self._slow, str(task.source["silent"]))
        except NotForArraysError:
            pass
        except (CheckError, RecursionError):
            self._slow = None

    def of_bugs(
        self, decider: Decider[State, str], states: Sequence[State], radius: Radius
    ) -> Union:
        """One strategy for states that the decider has found to be safe; an error if it is none."""
        system = decider.system
        starts = [system.id(state) for state in states]
        ids, labels = decider.native.strategy_of_all(starts, native_radius(radius))
        return self.checked(system, ids, labels.astype(np.int64), starts, radius)

    def checked(
        self,
        system: System[State, str],
        ids: NDArray[np.uint32],
        labels: Numbers,
        starts: Sequence[int],
        radius: Radius,
    ) -> Union:
        columns = _columns(system, ids)
        try:
            degrees, targets = self._successors(system, ids, columns, labels)
        except CheckError as error:
            raise MisstepError(f"internal error: this is not a safe strategy: {error}") from error
        union = Union(columns, labels, degrees, targets, _numbers(ids, starts))
        if radius != math.inf:
            problem = deviation_problem(system, union, ids, radius)
            if problem:
                raise MisstepError(f"internal error: this is not a safe strategy: {problem}")
        return union

    def accepted(
        self,
        system: System[State, str],
        strategy: SharedStrategy,
        starts: Sequence[State],
        radius: Radius,
    ) -> bool:
        """Whether a strategy that somebody else has made is safe, from these states and within the radius."""
        if self._slow is None or any(state not in strategy.numbers for state in starts):
            return False
        slots = self._slow.model.slots
        if len(strategy.columns) != len(slots):
            return False
        labels = np.array(strategy.labels, np.int64)
        columns = [np.array(own) for own in strategy.columns]
        ids = np.array([system.id(state) for state in strategy.states], np.uint32)
        try:
            degrees, targets = self._successors(system, ids, columns, labels)
        except CheckError:
            return False
        if targets.tolist() != list(strategy.targets) or np.cumsum(degrees).tolist() != list(
            strategy.offsets[1:]
        ):
            return False
        if radius == math.inf:
            return True
        own = _numbers(ids, [system.id(state) for state in starts])
        union = Union(columns, labels, degrees, targets, own)
        return not deviation_problem(system, union, ids, radius)

    def _successors(
        self,
        system: System[State, str],
        ids: NDArray[np.uint32],
        columns: list[NDArray[np.generic]],
        labels: Numbers,
    ) -> tuple[Numbers, Numbers]:
        """Where the states lead; an error if the strategy is not safe."""
        if self._arrays is not None:
            found = self._arrays.check(columns, labels)
            if found.problem is not None:
                raise CheckError(found.problem)
            assert found.degrees is not None
            assert found.targets is not None
            return found.degrees, found.targets
        if self._slow is not None:
            states = list(zip(*(column.tolist() for column in columns), strict=True))
            listed = successors(self._slow, states, labels.tolist())
        else:
            listed = _by_the_engine(system, ids, labels)
        degrees = np.array([len(own) for own in listed], np.int64)
        return degrees, np.array([other for own in listed for other in own], np.int64)


def _by_the_engine(
    system: System[State, str], ids: NDArray[np.uint32], labels: Numbers
) -> list[list[int]]:
    """The same, asked from the engine again, not from what deciders keep."""
    states = system.states(ids.tolist())
    numbers: dict[Hashable, int] = {state: number for number, state in enumerate(states)}
    found = []
    for number, (state, label) in enumerate(
        zip(states, system.labels(labels.tolist()), strict=True)
    ):
        here = fragment(system, [state], False)[state]
        if here.unsafe or here.goal or not here.actions.get(label):
            raise CheckError(f"state {number} is an end, or its label does not apply")
        outcomes = here.actions[label]
        for outcome in outcomes:
            if outcome not in numbers:
                _check_end(system, cast(State, outcome), number)
        found.append(sorted({numbers[own] for own in outcomes if own in numbers}))
    return found


def _check_end(system: System[State, str], state: State, number: int) -> None:
    end = fragment(system, [state], False)[state]
    stuck = not end.actions and system.dead_end != "unsafe"
    if end.unsafe or not (end.goal or stuck):
        raise CheckError(f"state {number} leads to a state that is unsafe, or has no label")


def deviation_problem(
    system: System[State, str],
    union: Union,
    ids: NDArray[np.uint32],
    radius: Radius,
) -> str:
    """Why a start takes more deviations from the policy than the radius; empty if none does."""
    decided = [system.native.decision(id) for id in ids.tolist()]
    costs = [int(own != label) for own, label in zip(decided, union.labels.tolist(), strict=True)]
    ends = np.cumsum(union.degrees).tolist()
    targets = union.targets.tolist()
    listed = [targets[first:last] for first, last in zip([0, *ends], ends, strict=False)]
    numbers = list(union.starts.values())
    totals = most_expensive_runs(listed, costs, numbers)
    worst = max((totals[number] for number in numbers), default=0)
    return "" if worst <= radius else f"{worst} deviations, not {radius} at most"


def _numbers(ids: NDArray[np.uint32], starts: Sequence[int]) -> dict[int, int]:
    """The places of some ids among all; an error if one is missing."""
    order = np.argsort(ids)
    places = np.searchsorted(ids, starts, sorter=order)
    found = order[np.minimum(places, len(ids) - 1)]
    if (ids[found] != np.asarray(starts)).any():
        raise MisstepError("internal error: this is not a safe strategy: a state is missing")
    return dict(zip(starts, found.tolist(), strict=True))


def _columns(system: System[State, str], ids: NDArray[np.uint32]) -> list[NDArray[np.generic]]:
    transitions = system.transitions
    assert isinstance(transitions, _core.JaniTransitions)
    matrix = transitions.engine.columns(ids)
    kinds = [type(value) for value in system.state(int(ids[0]))]
    found: list[NDArray[np.generic]] = []
    for kind, column in zip(kinds, matrix, strict=True):
        own = column.view(np.float64) + 0.0 if kind is float else column
        found.append(own.astype(bool) if kind is bool else own)
    return found


def _packed_column(column: NDArray[np.generic]) -> bytes:
    """A letter for the type, then the values, in as few bytes as they fit in."""
    if column.dtype == np.bool_:
        return b"?" + column.tobytes()
    if column.dtype == np.float64:
        return b"d" + column.astype("<f8").tobytes()
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for letter, size in (("b", 1), ("h", 2), ("i", 4)):
        if -(2 ** (8 * size - 1)) <= low and high < 2 ** (8 * size - 1):
            return letter.encode() + column.astype(f"<i{size}").tobytes()
    return b"q" + column.astype("<i8").tobytes()


__all__ = ["Packed", "Union", "UnionChecker", "packed"]
