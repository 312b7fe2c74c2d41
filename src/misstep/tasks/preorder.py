"""Which values of a variable are at least as good as others, seen from the text of the task alone.

A value that no precondition, no goal and no effect condition mentions is never needed: a plan that works while the
variable has it works with any other value too. So a state that agrees with another one wherever that one has
a needed value is *at least as good* (`>=`): every plan of the other state is a plan from it, at the same cost.
A conditional effect can also fire where it should not, so a variable that conditions mention allows no exchange.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misstep._core import State
from misstep.tasks.task import Task


class ValuePreorder:
    """x >= y on the values of every variable, and on states."""

    def __init__(self, task: Task) -> None:
        self.domain_sizes = task.domain_sizes
        self.needed = [[False] * size for size in self.domain_sizes]
        facts = list(task.goal)
        for op in range(task.operator_count):
            facts += task.preconditions(op)
            for conditions, _, _ in task.effects(op):
                for variable, _ in conditions:
                    self.needed[variable] = [True] * self.domain_sizes[variable]
        for variable, value in facts:
            self.needed[variable][value] = True

    def value_at_least(self, variable: int, x: int, y: int) -> bool:
        return x == y or not self.needed[variable][y]

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


def value_preorder(task: Task) -> ValuePreorder:
    return ValuePreorder(task)


__all__ = ["ValuePreorder", "value_preorder"]
