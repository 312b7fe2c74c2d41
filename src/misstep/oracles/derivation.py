"""A proof of an upper bound without a plan: operators, and jumps to states that are no better than those left.

A jump from t to s rests on a dominance function: h*(t) <= h*(s) - D(s,t). A derivation follows operators and jumps from
a state to a goal; the costs of its operators minus the values of its jumps bound h* of the state where it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from misstep.tasks.task import State, Task


@dataclass(frozen=True)
class Step:
    """An operator that leads to `state`; or, without operator, a jump to the dominated `state` of that value."""

    operator: int | None
    state: State
    value: int = 0


@dataclass(frozen=True)
class Derivation:
    steps: tuple[Step, ...]

    @staticmethod
    def of(steps: Sequence[tuple[int, State, int]]) -> Derivation:
        """From the steps as the core tells them."""
        return Derivation(
            tuple(Step(op if op >= 0 else None, state, value) for op, state, value in steps)
        )

    def bound(self, task: Task) -> int:
        """What it proves."""
        return sum(
            -step.value if step.operator is None else task.cost(step.operator)
            for step in self.steps
        )


__all__ = ["Derivation", "Step"]
