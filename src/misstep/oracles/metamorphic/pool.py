"""The comparison pool: states whose bounds improve each other by dominance.

Every state in the pool is compared with every other, both ways: u(t) <= u(s) - D(s,t). What a comparison gains goes
into the bound store, and from there along transitions to the states that lead to it, which may be in the pool too and
then have something new to offer. `settle` repeats that until nothing improves any more. The end does not depend on the
order: bounds only fall, and each is the smallest number that operators and comparisons give.

A state is compared with the others when it enters and whenever its bound has improved.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from misstep.oracles.bounds import BoundStore
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.policies.policy import States
from misstep.tasks.task import State


class ComparisonPool:
    """States that are compared with each other, on a bound store."""

    def __init__(self, bounds: BoundStore, dominance: Dominance) -> None:
        self.bounds = bounds
        self.index = dominance.index()
        self.dominance = dominance
        self.states: list[State] = []
        self._rows: dict[State, int] = {}
        self._values = np.empty((0, bounds.task.variable_count), dtype=np.int32)
        self._known: NDArray[np.float64] = np.empty(0)  # the bounds that the others were told
        self.comparisons = 0

    def __contains__(self, state: State) -> bool:
        return state in self._rows

    def __len__(self) -> int:
        return len(self.states)

    def seed(self, values: States) -> None:
        """Begin with states that were compared with each other before: what they say about each other is known."""
        assert not self.states
        self.states = [State(row) for row in values.tolist()]
        self._rows = {state: row for row, state in enumerate(self.states)}
        self.index.add_batch(values)
        self._values = values
        self._known = self.bounds.graph.upper_bounds(values)
        for row in np.flatnonzero(np.isfinite(self._known)):
            self.index.set_bound(int(row), int(self._known[row]))

    def copy(self, bounds: BoundStore) -> ComparisonPool:
        """The same states on another bound store, which has to know the same of them."""
        other = object.__new__(ComparisonPool)
        other.bounds = bounds
        other.index = self.index.copy()
        other.dominance = self.dominance
        other.states = list(self.states)
        other._rows = dict(self._rows)
        other._values = self._values
        other._known = self._known.copy()
        other.comparisons = self.comparisons
        return other

    def add(self, states: Iterable[State]) -> None:
        """Take in states, each with what the others say about it; `settle` tells the others what it has to say."""
        fresh = [s for s in dict.fromkeys(states) if s not in self._rows]
        if not fresh:
            return
        values = np.array([state.values for state in fresh], dtype=np.int32)
        self.infer(values)
        for state in fresh:
            number = self.index.add(state)
            assert number == len(self.states)
            self._rows[state] = number
            self.states.append(state)
        self._values = np.concatenate([self._values, values])
        self._known = np.concatenate([self._known, np.full(len(fresh), np.inf)])

    def infer(self, values: States) -> None:
        """Bounds for states that need not be in the pool, from those that are."""
        if not self.states or not len(values):
            return
        inferred, sources = self.index.pull_batch(values)
        self.comparisons += len(values) * len(self.states)
        upper = self.bounds.graph.upper_bounds(values)
        for k in np.flatnonzero((sources >= 0) & (inferred < upper)):
            self._compare(self.states[sources[k]], State(values[k].tolist()))

    def settle(self) -> None:
        """Compare until no bound improves any more."""
        while True:
            upper = self.bounds.graph.upper_bounds(self._values)
            improved = np.flatnonzero(upper < self._known)
            if not len(improved):
                return
            self._known[improved] = upper[improved]
            for row in improved:
                self.index.set_bound(int(row), int(upper[row]))
            for row in improved:
                self._tell(int(row))

    def _tell(self, row: int) -> None:
        """What a state's bound means for the others."""
        others, _ = self.index.push(self.states[row], int(self._known[row]))
        self.comparisons += len(self.states)
        for other in others.tolist():
            self._compare(self.states[row], self.states[other])

    def _compare(self, dominated: State, dominating: State) -> None:
        value = self.dominance.value(dominated=dominated, dominating=dominating)
        assert value is not None
        self.bounds.add_dominance(dominated, dominating, value)


__all__ = ["ComparisonPool"]
