"""Exact numbers of a small task, from its whole reachable state space."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from misstep._core import StateSpace
from misstep.errors import BudgetLimitError, MemoryLimitError, TimeLimitError
from misstep.ranges import bytes_of
from misstep.tasks.task import State, Task

DEFAULT_MAX_STATES = 10_000_000
SMALL = 200_000  # states; enumerating as many takes about a tenth of a second


@dataclass(frozen=True)
class Census:
    """Counts over the states reachable from the initial state."""

    states: int
    transitions: int  # pairs of a state and an operator applicable in it
    goal_states: int
    dead_ends: int
    h_star_initial: int | None  # None: no plan
    max_h_star: int | None  # the largest finite one

    @staticmethod
    def of(space: StateSpace) -> Census:
        """The numbers of a whole state space."""
        h_star = space.h_star
        finite = h_star[np.isfinite(h_star)]
        return Census(
            states=len(space),
            transitions=space.transition_count,
            goal_states=int(np.count_nonzero(space.is_goal)),
            dead_ends=len(h_star) - len(finite),
            h_star_initial=int(h_star[0]) if np.isfinite(h_star[0]) else None,
            max_h_star=int(finite.max()) if len(finite) else None,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def state_space(
    task: Task,
    *,
    max_states: int | None = DEFAULT_MAX_STATES,
    time_limit: float | None = None,
    memory_limit_mb: int | None = None,
    progress: Callable[..., None] | None = None,
) -> StateSpace:
    """The reachable state space with h* of every state; raises an error if a limit ends the enumeration."""
    space = StateSpace(
        task,
        [task.initial_state],
        seconds=time_limit,
        bytes=bytes_of(memory_limit_mb),
        states=max_states,
        progress=progress,
    )
    if space.complete:
        return space
    seen = f"the task is larger: {len(space):,} states found so far"
    if space.limit == "time":
        raise TimeLimitError(seen, where=task.name, hint=f"the limit was {time_limit} seconds")
    if space.limit == "memory":
        raise MemoryLimitError(seen, where=task.name, hint=f"the limit was {memory_limit_mb} MB")
    raise BudgetLimitError(seen, where=task.name, hint=f"the limit was {max_states:,} states")


class SmallTask:
    """The whole state space of a task, with the arrays that answer questions about single states."""

    def __init__(self, task: Task, space: StateSpace) -> None:
        self.task = task
        self.space = space
        self.h_star = space.h_star
        self.best = space.best_operator

    def distance(self, state: State) -> float | None:
        """h* of a state; None if the state cannot be reached from the initial state."""
        place = self.space.find(state)
        return None if place < 0 else float(self.h_star[place])

    def plan(self, state: State) -> list[int]:
        """A cheapest plan from a state that has one."""
        plan = []
        while (operator := int(self.best[self.space.find(state)])) >= 0:
            plan.append(operator)
            state = self.task.apply(state, operator)
        return plan


# For the last few tasks: the state space, or the number of states that it is known to exceed. Only a few are kept,
# because a state space may be large and keeps its task alive.
_RECENT: OrderedDict[Task, SmallTask | int] = OrderedDict()
_MOST_RECENT = 4


def small_task(task: Task, max_states: int = SMALL) -> SmallTask | None:
    """The state space if it has at most `max_states` states, else None. It is enumerated only once."""
    known = _RECENT.pop(task, 0)
    if isinstance(known, int) and known < max_states:
        try:
            known = SmallTask(task, state_space(task, max_states=max_states))
        except BudgetLimitError:
            known = max_states
    _RECENT[task] = known
    if len(_RECENT) > _MOST_RECENT:
        _RECENT.popitem(last=False)
    if isinstance(known, int):
        return None
    return known if len(known.space) <= max_states else None


__all__ = ["DEFAULT_MAX_STATES", "SMALL", "Census", "SmallTask", "small_task", "state_space"]
