"""States with upper bounds, and what a dominance function says between them.

Let u(s) >= h*(s) be known for some states. Then h*(t) <= u(s) - D(s, t) for every t. The index keeps states as rows
and compares one state with all of them at once: *pull* finds the best bound that the rows give a state, *push* the
rows that a state's bound improves. Sources that can never give the best bound are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep._core import ComparisonIndex as CoreIndex
from misstep.oracles.dominance.function import DominanceFunction
from misstep.tasks.task import State


class Pull(NamedTuple):
    """An upper bound on h* and the row it comes from; both None if no row says anything."""

    bound: int | None
    row: int | None


class Push(NamedTuple):
    """Rows whose bound fell, in increasing order, and their new bounds."""

    rows: NDArray[np.uint32]
    bounds: NDArray[np.int64]


class Exchange(NamedTuple):
    pull: Pull
    push: Push


class ComparisonIndex:
    """Bounds only fall. A bound below zero would prove that D or a bound is wrong and raises RuntimeError."""

    def __init__(self, function: DominanceFunction, core: CoreIndex | None = None) -> None:
        self.function = function
        self._core = CoreIndex(function.core) if core is None else core

    def copy(self) -> ComparisonIndex:
        """A copy with the same rows, bounds and sources."""
        return ComparisonIndex(self.function, self._core.copy())

    def __len__(self) -> int:
        return len(self._core)

    def add(self, state: State) -> int:
        """The row of a state, a new one if it has none. It has no bound yet."""
        return self._core.add(state)

    def add_batch(self, states: NDArray[np.int32]) -> NDArray[np.uint32]:
        return self._core.add_batch(states)

    def state(self, row: int) -> State:
        return self._core.state(row)

    def bound(self, row: int) -> int | None:
        return self._core.bound(row)

    def set_bound(self, row: int, bound: int) -> None:
        """Lower the bound of a row; a higher one than it has is ignored. Tells no other row."""
        self._core.set_bound(row, bound)

    def set_bounds(self, bounds: NDArray[np.int64]) -> None:
        """The same for all rows, in order; -1 where there is no bound."""
        self._core.set_bounds(bounds)

    def pull(self, dominating: State) -> Pull:
        """The lowest u(s) - D(s, t) over all rows s with a bound, and a row that gives it."""
        return Pull(*self._core.pull(dominating))

    def pull_batch(
        self, dominating: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same for a state a row of the array: bounds and rows, -1 where there is none."""
        return self._core.pull_batch(dominating)

    def push(self, dominated: State, bound: int) -> Push:
        """Lower the bounds of all rows s with bound - D(t, s) < u(s). If t has a row, it gets the bound too."""
        return Push(*self._core.push(dominated, bound))

    def exchange(self, state: State, bound: int | None) -> Exchange:
        """Pull and push in one pass: what is pushed is the lower of `bound` and what was pulled."""
        pulled, pushed = self._core.exchange(state, bound)
        return Exchange(Pull(*pulled), Push(*pushed))

    @property
    def sources(self) -> int:
        """How many sources are left to pull from, all factorings together."""
        return self._core.sources

    @property
    def bytes(self) -> int:
        return self._core.bytes


__all__ = ["ComparisonIndex", "Exchange", "Pull", "Push"]
