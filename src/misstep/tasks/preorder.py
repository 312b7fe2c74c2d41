"""Find values of a variable that are at least as good as others, from the text of the task alone.

A value that no precondition, no goal and no effect condition mentions is never needed: a plan that works while the
variable has it works with any other value too. So a state that agrees with another one wherever that one has
a needed value is *at least as good* (`>=`): every plan of the other state is a plan from it, at the same cost.
A conditional effect may fire when it should not, so this does not hold for variables in effect conditions.
"""

from __future__ import annotations

from misstep.tasks.task import Task


class ValuePreorder:
    """x >= y on the values of every variable. On states it is native (core/fdr/value_preorder.h)."""

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


__all__ = ["ValuePreorder"]
