"""Which states are at least as good as others, slow and obvious: the twin of core/fdr/value_preorder.h."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misstep.tasks.preorder import ValuePreorder
from misstep.tasks.task import State


class StatePreorder(ValuePreorder):
    """x >= y on states."""

    def at_least(self, state: State, other: State) -> bool:
        """Whether every plan of `other` is a plan from `state`."""
        return all(
            x == y or not needed[y]
            for needed, x, y in zip(self.needed, state.values, other.values, strict=True)
        )

    def needed_facts(self, state: State) -> list[tuple[int, int]]:
        """The facts of the state that a state at least as good must share."""
        return [(v, x) for v, x in enumerate(state.values) if self.needed[v][x]]

    def at_least_batch(
        self, states: NDArray[np.int32], others: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Row i, column j: whether state i is at least as good as the other state j."""
        result = np.ones((len(states), len(others)), dtype=np.bool_)
        for v in range(len(self.domain_sizes)):
            # Most pairs differ early; one variable at a time keeps the arrays two-dimensional.
            ours, theirs = states[:, v], others[:, v]
            result &= (ours[:, None] == theirs[None, :]) | self._free[v][theirs][None, :]
        return result

    @cached_property
    def _free(self) -> list[NDArray[np.bool_]]:
        return [~np.array(needed, dtype=np.bool_) for needed in self.needed]
