"""States of planning tasks as they are stored."""

from __future__ import annotations

from operator import lt

from misstep.campaigns.rows import Values
from misstep.errors import InputFormatError
from misstep.tasks.task import State, Task


def state_of(task: Task, values: Values, where: str | None = None) -> State:
    """A stored state; raises an error if it is not a state of the task."""
    check_values(task, values, where)
    return State([int(value) for value in values])


def check_values(task: Task, values: Values, where: str | None = None) -> None:
    """Raise an error if these are not the values of a state of the task."""
    sizes = task.fact_counts
    if (
        len(values) == len(sizes)
        and set(map(type, values)) == {int}
        and min(values) >= 0
        and all(map(lt, values, sizes))
    ):
        return
    if len(values) != len(sizes):
        raise InputFormatError(
            f"not a state of {task.name}: {len(values)} values",
            where=where,
            expected=str(len(sizes)),
        )
    for number, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if type(value) is not int or not 0 <= value < size:
            raise InputFormatError(
                f"not a state of {task.name}: variable {number} has the value {value!r:.40}",
                where=where,
                expected=f"0 to {size - 1}",
            )


__all__ = ["check_values", "state_of"]
