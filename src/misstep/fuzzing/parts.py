"""Replace settings for which a task is too large.

Exact distances and exact dead ends need the whole state space. If that is too large, h* comes from a search for each
distance, unless the task has conditional effects, which the search cannot handle; and dead ends are recognised by a
small search. Each replacement leaves a remark.
"""

from __future__ import annotations

from typing import NamedTuple

from misstep import _core
from misstep.errors import BudgetLimitError
from misstep.fuzzing.settings import Settings
from misstep.tasks.census import state_space
from misstep.tasks.task import Task


class Parts(NamedTuple):
    """What of the settings can be had on a task."""

    space: _core.StateSpace | None  # the whole state space, where something needs it
    evaluations: (
        int | None
    )  # of a search for h*, where the state space is not known; None: no such search
    dead_ends: str
    remarks: tuple[str, ...] = ()


def parts_that_fit(task: Task, settings: Settings) -> Parts:
    """The state space if it is needed and small enough, or else the replacements for what needs it."""
    if not settings.needs_state_space:
        return Parts(None, None, settings.dead_ends)
    try:
        space = state_space(task, max_states=settings.exact_states)
    except BudgetLimitError:
        return _without_space(task, settings)
    return Parts(space, None, settings.dead_ends)


def _without_space(task: Task, settings: Settings) -> Parts:
    large = f"the task has more than {settings.exact_states:,} states"
    evaluations, dead_ends, remarks = None, settings.dead_ends, []
    if settings.needs_h_star:
        if task.has_conditional_effects:
            remarks.append(
                f"{large}, and conditional effects: the bias {settings.bias} measures with ff instead of h*"
            )
        else:
            evaluations = settings.estimate_evaluations
            remarks.append(
                f"{large}: h* comes from A* with LM-cut, at most {evaluations:,} evaluations each"
            )
    if dead_ends == "exact":
        dead_ends = "search"
        remarks.append(f"{large}: dead ends are recognised by search instead of exactly")
    return Parts(None, evaluations, dead_ends, tuple(remarks))


__all__ = ["Parts", "parts_that_fit"]
