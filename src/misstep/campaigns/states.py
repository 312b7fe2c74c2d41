"""States of planning tasks as they are stored."""

from __future__ import annotations

from collections.abc import Iterable
from operator import lt

from misstep.campaigns.rows import StateRow, Values
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


def check_walks(
    task: Task, rows: Iterable[StateRow], where: str | None = None
) -> tuple[list[State], int]:
    """The states, and how many have no walk from the initial state, so that it is only said that one can get there.

    Raises an error if a walk leads elsewhere."""
    states: dict[int, State] = {}
    brought: set[int] = set()
    for row in rows:
        state = states[row.number] = state_of(task, row.state, where)
        start = task.initial_state if row.reference is None else states.get(row.reference)
        if row.reference is None and not row.walk:
            if state != start:
                brought.add(row.number)
            continue
        if row.reference in brought:
            brought.add(row.number)
        if start is None or _walked(task, start, row) != state:
            raise InputFormatError(
                f"state {row.number} of {task.name} is not where its walk leads",
                where=where,
                hint="'misstep replay DIR' says what else is wrong with it",
            )
    return list(states.values()), len(brought)


def _walked(task: Task, state: State, row: StateRow) -> State | None:
    try:
        for operator in row.walk:
            state = task.apply(state, operator)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return state


def text_of_brought(count: int) -> str:
    states = "1 state" if count == 1 else f"{count} states"
    return f"the other campaign has no walk from the initial state to {states}"


__all__ = ["check_values", "check_walks", "state_of", "text_of_brought"]
