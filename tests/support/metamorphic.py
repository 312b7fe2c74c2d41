"""Dominance functions that are true by construction, and an index that looks at every pair."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom, StateSpace
from misstep.policies.policy import States
from misstep.tasks.task import State, Task


class Part(NamedTuple):
    variables: tuple[int, ...]
    value: int


class PairwiseIndex:
    """The obvious twin of the native index."""

    def __init__(self, dominance: TrueDominance) -> None:
        self.dominance = dominance
        self.states: list[State] = []
        self.bounds: list[float] = []

    def copy(self) -> PairwiseIndex:
        other = PairwiseIndex(self.dominance)
        other.states, other.bounds = list(self.states), list(self.bounds)
        return other

    def add_batch(self, states: States) -> NDArray[np.uint32]:
        return np.array([self.add(State(row)) for row in states.tolist()], dtype=np.uint32)

    def add(self, state: State) -> int:
        self.states.append(state)
        self.bounds.append(math.inf)
        return len(self.states) - 1

    def set_bounds(self, bounds: NDArray[np.int64]) -> None:
        for row, bound in enumerate(bounds.tolist()):
            if bound >= 0:
                self.bounds[row] = min(bound, self.bounds[row])

    def pull_batch(self, dominating: States) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        best, rows = [], []
        for state in map(State, dominating.tolist()):
            found = [
                (int(u) - d, row)
                for row, (s, u) in enumerate(zip(self.states, self.bounds, strict=True))
                if math.isfinite(u) and (d := self.dominance.value(s, state)) is not None
            ]
            bound, row = min(found, default=(-1, -1))
            best.append(bound)
            rows.append(row)
        return np.array(best, dtype=np.int64), np.array(rows, dtype=np.int64)

    def push(self, dominated: State, bound: int) -> tuple[NDArray[Any], NDArray[Any]]:
        found = [
            (row, bound - d)
            for row, (s, u) in enumerate(zip(self.states, self.bounds, strict=True))
            if (d := self.dominance.value(dominated, s)) is not None and bound - d < u
        ]
        for row, better in found:
            self.bounds[row] = better
        rows, bounds = zip(*found, strict=True) if found else ((), ())
        return np.array(rows, dtype=np.int64), np.array(bounds, dtype=np.int64)


class TrueDominance:
    """h*(s) - h*(t), made weaker here and there, on a task that is enumerated; unknown elsewhere."""

    def __init__(self, task: Task, space: StateSpace, seed: int = 0, holes: int = 3) -> None:
        self.task = task
        self.space = space
        self.random = CounterRandom(seed)
        self.holes = holes  # about one pair in so many is incomparable; 1: all, 0: none
        self.known: dict[tuple[State, State], int | None] = {}

    def value(self, dominated: State, dominating: State) -> int | None:
        if dominated == dominating:
            return 0
        key = (dominated, dominating)
        if key not in self.known:
            self.known[key] = self._value(dominated, dominating)
        return self.known[key]

    def _value(self, dominated: State, dominating: State) -> int | None:
        s, t = self.space.find(dominated), self.space.find(dominating)
        if min(s, t) < 0:
            return None
        here, there = float(self.space.h_star[s]), float(self.space.h_star[t])
        if math.isinf(here) or math.isinf(there):
            return None
        if self.holes and self.random.below(self.holes) == 0:
            return None
        return int(here - there) - self.random.below(3)

    def by_factor(self, dominated: State, dominating: State) -> list[Part]:
        value = self.value(dominated, dominating)
        return [] if value is None else [Part((), value)]

    def independent(self) -> TrueDominance.Independent:
        return self.Independent(self)

    class Independent:
        def __init__(self, outer: TrueDominance) -> None:
            self.outer = outer

        def value(self, dominated: tuple[int, ...], dominating: tuple[int, ...]) -> int | None:
            return self.outer.value(State(list(dominated)), State(list(dominating)))

        def summands(
            self, dominated: tuple[int, ...], dominating: tuple[int, ...]
        ) -> list[list[tuple[tuple[int, ...], int]]]:
            value = self.value(dominated, dominating)
            return [] if value is None else [[((), value)]]

    def index(self) -> PairwiseIndex:
        return PairwiseIndex(self)

    def morphs(self, dominating: State) -> list[tuple[State, int]]:
        found = []
        for v in range(self.task.variable_count):
            for x in range(len(self.task.fact_names[v])):
                values = list(dominating.values)
                if values[v] != x:
                    values[v] = x
                    value = self.value(State(values), dominating)
                    if value is not None:
                        found.append((State(values), value))
        return sorted(found, key=lambda pair: (-pair[1], pair[0].values))
