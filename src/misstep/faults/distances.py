"""Distances for judging decisions: exact h* on a small task, bounds on a large one.

Bounds come from the same store that the oracles use. LM-cut is computed for each state, and if that does not decide, a
limited A* search runs. The results of one search also improve the bounds of other states, by the transitions between
them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

from misstep import _core
from misstep.faults.regret import Regrets, Value, bounded_regrets
from misstep.oracles.bounds import BoundStore, finite_or_none
from misstep.planning import make_heuristic
from misstep.runs.runner import Trace
from misstep.tasks.census import SMALL, SmallTask, small_task
from misstep.tasks.task import State, Task

DEFAULT_EVALUATIONS = 2_000  # of the search from one state


class Distances(ABC):
    """Bounds on h* of the states of a task, and the best known operator in each."""

    exact = False

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def lower(self, state: State) -> Value: ...

    @abstractmethod
    def upper(self, state: State) -> Value: ...

    @abstractmethod
    def best_operator(self, state: State, below: Value = math.inf) -> int | None:
        """The first step of the cheapest known plan, if it costs less than `below`.

        The upper bound may be lower than the cost of that plan, because a derivation can prove it without a plan.
        """

    def length(self, state: State) -> Value | None:  # noqa: ARG002
        """The steps of a shortest cheapest plan, if known."""
        return None

    @abstractmethod
    def allow(self, evaluations: int | None) -> None:
        """Limit all further searches together; None: each one only has its own limit."""

    @abstractmethod
    def add_path(self, state: State, operators: Iterable[int]) -> None:
        """Add a known path, which may be part of a plan."""

    def regrets(self, trace: Trace) -> Regrets:
        """The regrets of the decisions of a run."""
        self.add_path(trace.states[0], trace.operators)
        for state in reversed(trace.states):
            self.lower(state)  # run all searches first, because each may help the others
        length = self.length if self._loops_for_nothing(trace) else None
        return bounded_regrets(self.task, trace, self.lower, self.upper, length)

    def _loops_for_nothing(self, trace: Trace) -> bool:
        """Whether the run ends in a loop of cost zero; only then does the number of steps matter."""
        if trace.outcome != "loop":
            return False
        entry = trace.states.index(trace.states[-1])
        return not any(self.task.cost(op) for op in trace.operators[entry:])


class ExactDistances(Distances):
    """From the whole state space. Of states that cannot be reached from the initial state nothing is known."""

    exact = True

    def __init__(self, small: SmallTask) -> None:
        super().__init__(small.task)
        self.space = small.space
        self.h_star = small.h_star
        self.best = small.best

    def lower(self, state: State) -> Value:
        place = self.space.find(state)
        return 0 if place < 0 else float(self.h_star[place])

    def upper(self, state: State) -> Value:
        place = self.space.find(state)
        return math.inf if place < 0 else float(self.h_star[place])

    def allow(self, evaluations: int | None) -> None:
        pass  # nothing is searched here

    def add_path(self, state: State, operators: Iterable[int]) -> None:
        pass  # nothing is new here

    def best_operator(self, state: State, below: Value = math.inf) -> int | None:
        place = self.space.find(state)
        operator = -1 if place < 0 else int(self.best[place])
        return None if operator < 0 or self.lower(state) >= below else operator

    def length(self, state: State) -> Value | None:
        place = self.space.find(state)
        return None if place < 0 else self._lengths[place]

    @cached_property
    def _lengths(self) -> list[float]:
        """Breadth-first from the goals, backwards along operators that lose nothing."""
        h, is_goal = self.h_star.tolist(), self.space.is_goal.tolist()
        before: list[list[int]] = [[] for _ in h]
        for s, value in enumerate(h):
            if math.isfinite(value) and not is_goal[s]:
                for op, t in self.space.transitions(s):
                    if self.task.cost(op) + h[t] == value:
                        before[t].append(s)
        lengths = [0.0 if goal else math.inf for goal in is_goal]
        layer = [s for s, goal in enumerate(is_goal) if goal]
        while layer:
            reached = []
            for t in layer:
                for s in before[t]:
                    if math.isinf(lengths[s]):
                        lengths[s] = lengths[t] + 1
                        reached.append(s)
            layer = reached
        return lengths


class BoundedDistances(Distances):
    """From searches of limited size."""

    def __init__(self, task: Task, evaluations: int = DEFAULT_EVALUATIONS) -> None:
        super().__init__(task)
        self.store = BoundStore(task)
        self.evaluations = evaluations
        self.heuristic = make_heuristic("max" if task.has_conditional_effects else "lmcut", task)
        self._searched: set[State] = set()
        self._left: int | None = None

    def allow(self, evaluations: int | None) -> None:
        self._left = evaluations

    def add_path(self, state: State, operators: Iterable[int]) -> None:
        self.store.add_path(state, list(operators))

    def lower(self, state: State) -> Value:
        self._search(state)
        return self.store.bounds(state).lower

    def upper(self, state: State) -> Value:
        self._search(state)
        return self.store.bounds(state).upper

    def best_operator(self, state: State, below: Value = math.inf) -> int | None:
        self._search(state)
        plan = self.store.witness(state)
        return plan[0] if plan and self.store.plan_cost(state) < below else None

    def _search(self, state: State) -> None:
        if state in self._searched:
            return
        if self._left is not None and self._left <= 0:
            return  # the budget is used up
        self._searched.add(state)
        self.store.raise_lower_bound(state, self.heuristic(state))
        self._spend(1)
        bounds = self.store.bounds(state)
        if bounds.lower == bounds.upper:
            return
        search = _core.AStar(self.task, self.heuristic, state, finite_or_none(bounds.upper))
        limit = self.evaluations if self._left is None else min(self.evaluations, self._left)
        result = search.run(evaluations=limit)
        self._spend(result.evaluations)
        if result.cost is not None:
            self.store.add_plan(state, result.plan, result.cost)
        proven = math.inf if result.lower_bound is None else result.lower_bound
        self.store.raise_lower_bound(state, proven)

    def _spend(self, evaluations: int) -> None:
        if self._left is not None:
            self._left -= evaluations


def exact_distances(task: Task, max_states: int = SMALL) -> ExactDistances | None:
    """From the whole state space; None if it has more states than that."""
    small = small_task(task, max_states)
    return None if small is None else ExactDistances(small)


def distances(
    task: Task, *, max_states: int = SMALL, evaluations: int = DEFAULT_EVALUATIONS
) -> Distances:
    """Exact ones if the task has no more than `max_states` reachable states, bounds otherwise."""
    exact = exact_distances(task, max_states) if max_states > 0 else None
    return exact or BoundedDistances(task, evaluations)


__all__ = ["BoundedDistances", "Distances", "ExactDistances", "distances", "exact_distances"]
