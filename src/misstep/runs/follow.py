"""Apply the operators of a record, a plan or a walk step by step."""

from __future__ import annotations

from collections.abc import Sequence

from misstep.errors import UsageError
from misstep.tasks.task import State, Task


def follow_operators(task: Task, start: State, operators: Sequence[int]) -> list[State]:
    """The states along the operators, the start first. Raises an error if one of them does not apply."""
    states = [start]
    for step, op in enumerate(operators):
        if not 0 <= op < task.operator_count:
            raise UsageError(f"step {step}: the task has no operator {op}", where=task.name)
        try:
            states.append(task.apply(states[-1], op))
        except ValueError:
            raise UsageError(
                f"step {step}: ({task.operator_name(op)}) does not apply in {states[-1]}",
                where=task.name,
            ) from None
    return states


def path_cost(task: Task, operators: Sequence[int]) -> int:
    return sum(map(task.cost, operators))


__all__ = ["follow_operators", "path_cost"]
