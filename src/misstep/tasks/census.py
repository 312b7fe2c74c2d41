"""Exact numbers of a small task, from its whole reachable state space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from misstep._core import StateSpace
from misstep.errors import BudgetLimitError, MemoryLimitError, TimeLimitError
from misstep.tasks.task import Task

DEFAULT_MAX_STATES = 10_000_000


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
    """The reachable state space with h* of every state; an error if a limit ends the enumeration."""
    space = StateSpace(
        task,
        [task.initial_state],
        seconds=time_limit,
        bytes=None if memory_limit_mb is None else memory_limit_mb * 2**20,
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


__all__ = ["DEFAULT_MAX_STATES", "Census", "state_space"]
