"""Counts how often a shared strategy deviates from the policy, as far as stored runs show the policy's decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

from misstep.checking.shared import SharedStrategy, State, most_expensive_runs


class SafeStrategy:
    """A shared strategy that is safe, and how often it deviates from the policy."""

    def __init__(self, shared: SharedStrategy, decisions: Mapping[State, int]) -> None:
        self.shared = shared
        self._decisions = decisions

    @cached_property
    def _successors(self) -> list[Sequence[int]]:
        return [self.shared.successors(number) for number in range(len(self.shared))]

    def _deviations(self, unknown: int) -> list[float]:
        """The largest number for each state; a decision of the policy that no run shows counts as `unknown`."""
        costs = [
            int(self._decisions[state] != label) if state in self._decisions else unknown
            for state, label in zip(self.shared.states, self.shared.labels, strict=True)
        ]
        return most_expensive_runs(self._successors, costs, range(len(costs)))

    @cached_property
    def _least(self) -> list[float]:
        return self._deviations(0)

    @cached_property
    def _most(self) -> list[float]:
        return self._deviations(1)

    def problem(self, state: State, radius: float) -> str | None:
        number = self.shared.numbers.get(state)
        if number is None:
            return "it does not have the state of the record"
        if math.isinf(radius) or self._least[number] <= radius:
            return None
        return f"{self._least[number]} deviations, not {radius} at most"

    def label(self, state: State) -> int:
        return self.shared.labels[self.shared.numbers[state]]

    def most(self, state: State) -> float:
        """An upper bound on the number of deviations."""
        return self._most[self.shared.numbers[state]]


__all__ = ["SafeStrategy"]
