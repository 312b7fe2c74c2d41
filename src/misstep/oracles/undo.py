"""Undo a walk: turn a plan for a state on the walk into a plan for its last state.

The search is native (core/oracles/way_back.h). It needs no analysis of the domain: it looks for operators that undo
single steps of the walk, and for longer ways back by a bounded A*. A cheapest way back, followed by the plan, is a plan
for the end of the walk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import UnsupportedError
from misstep.policies.policy import States
from misstep.tasks.invertibility import invertibility
from misstep.tasks.task import State, Task

DEFAULT_BUDGET = 500  # expansions, all searches of one walk together


class Way(NamedTuple):
    """Operators that lead back to something at least as good as a state of the walk, its row."""

    operators: tuple[int, ...]
    cost: int
    target: int


class Undoing(NamedTuple):
    """The result of undoing a walk.

    Neither a way nor a limit: after `Undoer.search` this proves that there is no way. After `Undoer.undo` it means that
    some step cannot be undone, or that the ways found are not cheap enough.
    """

    way: Way | None
    expansions: int  # of the searches where one operator was not enough
    limit: str | None  # expansions or time, if one of them ended the search for a way back


class Undoer:
    """Undoes walks of one task; keeps what the walks share."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.searched: set[State] = set()  # states that a plan was searched from, once
        self._native = _core.WayBack(task)

    def undo(
        self,
        walk: States,
        plan_costs: NDArray[np.float64],
        bound: float = math.inf,
        budget: int = DEFAULT_BUDGET,
        seconds: float = math.inf,
    ) -> Undoing:
        """A way from the last state of the walk to one with a plan, together cheaper than the bound."""
        return _undoing(
            self._native.back(walk, plan_costs, bound, expansions=budget, seconds=_limit(seconds))
        )

    def search(
        self, start: State, target: State, budget: int, seconds: float = math.inf
    ) -> Undoing:
        """A cheapest way to a state at least as good as the target."""
        return _undoing(
            self._native.search(start, target, expansions=budget, seconds=_limit(seconds))
        )

    @cached_property
    def all_undoable(self) -> bool:
        """Proven: every operator can be undone, so every reachable state is solvable if the initial state is."""
        try:
            return invertibility(self.task).invertible
        except UnsupportedError:
            return False


def walk_states(task: Task, start: State, operators: Sequence[int]) -> list[State]:
    """The states along a walk, its start and its end included."""
    states = [start]
    for operator in operators:
        states.append(task.apply(states[-1], operator))
    return states


def _undoing(found: tuple[list[int] | None, int, int, int, str]) -> Undoing:
    operators, cost, target, expansions, limit = found
    way = None if operators is None else Way(tuple(operators), cost, target)
    return Undoing(way, expansions, None if limit == "none" else limit)


def _limit(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds


__all__ = ["DEFAULT_BUDGET", "Undoer", "Undoing", "Way", "walk_states"]
