"""Going back along a walk: a plan for where it ended from a plan for where it began.

No analysis of the domain is needed. One operator leads from state x to y if its result is at least as good as y
(see `misstep.tasks.preorder`); then whatever works from y works after it. So the states of the walk and these operators
form a small graph, and a cheapest path in it from the end of the walk to its start, followed by a plan of the start, is
a plan for the end. Where the graph does not connect, a bounded A* with a re-targeted hmax looks for a longer way
back. The start is reachable again only if every state of the walk is, so one proof that a step cannot be undone
ends the work. Every plan returned has been executed.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep._core import HMax
from misstep.errors import UsageError
from misstep.tasks.preorder import ValuePreorder, value_preorder
from misstep.tasks.task import State, Task

DEFAULT_BUDGET = 500  # expansions, all searches of one walk together
_INFINITY = math.inf
_States = NDArray[np.int32]


@dataclass(frozen=True)
class UndoPlan:
    """A plan for the end of a walk: first back, then the plan of the start."""

    operators: tuple[int, ...]
    cost: int
    undo_steps: int  # how many of the operators lead back
    undo_cost: int


@dataclass(frozen=True)
class Undoing:
    """What came of undoing a walk. Without a plan and a limit there is no way back."""

    plan: UndoPlan | None
    expansions: int  # of the searches where one operator was not enough
    limit: str | None  # expansions or time, if one of them ended the search for a way back


@dataclass(frozen=True)
class _Way:
    operators: tuple[int, ...]
    cost: int


class Undoer:
    """Undoes walks of one task; keeps what the walks share."""

    def __init__(self, task: Task, order: ValuePreorder | None = None) -> None:
        self.task = task
        self.order = order or value_preorder(task)
        self._hmax = HMax(task)

    def undo(
        self,
        walk_states: Sequence[State],
        walk_operators: Sequence[int],
        base_plan: Sequence[int],
        budget: int = DEFAULT_BUDGET,
        seconds: float = math.inf,
    ) -> Undoing:
        """Look for a plan for the last state of the walk, given one for the first."""
        ends = time.perf_counter() + seconds
        self._check_walk(walk_states, walk_operators)
        self._check_plan(walk_states[0], base_plan)
        way, expansions, limit = self._way_back(list(walk_states), budget, ends)
        plan = None if way is None else self._joined(walk_states[-1], way, base_plan)
        return Undoing(plan, expansions, limit)

    def single_steps(self, states: Sequence[State]) -> list[dict[int, int]]:
        """For each state: the other states that one operator leads to, each with the cheapest such operator."""
        rows = _rows(states)
        steps: list[dict[int, int]] = []
        for k, state in enumerate(states):
            operators, successors = self._successors(state)
            operators.sort(key=lambda pair: (self.task.cost(pair[1]), pair[1]))
            reached = self.order.at_least_batch(successors, rows)
            found: dict[int, int] = {}
            for row, op in operators:
                for j in np.flatnonzero(reached[row]).tolist():
                    if j != k:
                        found.setdefault(j, op)
            steps.append(found)
        return steps

    def search(
        self, start: State, target: State, budget: int, ends: float = math.inf
    ) -> tuple[_Way | None, int, str | None]:
        """A cheapest way to a state at least as good as the target; the expansions; the limit that ended it, if any.

        `ends` is a time of `time.perf_counter`.
        """
        goal = self.order.needed_facts(target)
        self._hmax.set_goal(goal)
        estimate = self._hmax(start)
        if math.isinf(estimate):
            return None, 0, None
        cost: dict[State, int] = {start: 0}
        parents: dict[State, tuple[State, int]] = {}
        queue: list[tuple[float, float, int, State]] = [(estimate, estimate, 0, start)]
        closed: set[State] = set()
        generated = expansions = 0
        while queue:
            _, _, _, state = heapq.heappop(queue)
            if state in closed:
                continue
            if self.order.at_least(state, target):
                return _Way(_path(parents, state), cost[state]), expansions, None
            if expansions >= budget:
                return None, expansions, "expansions"
            if time.perf_counter() >= ends:
                return None, expansions, "time"
            closed.add(state)
            expansions += 1
            operators, successors = self._successors(state)
            if not operators:
                continue
            estimates = self._hmax.evaluate_batch(successors)
            for row, op in operators:
                if math.isinf(estimates[row]):
                    continue
                successor = State(successors[row].tolist())
                g = cost[state] + self.task.cost(op)
                if successor in closed or g >= cost.get(successor, _INFINITY):
                    continue  # hmax is consistent: what is closed has its cheapest way
                cost[successor] = g
                parents[successor] = (state, op)
                generated += 1
                h = float(estimates[row])
                heapq.heappush(queue, (g + h, h, generated, successor))
        return None, expansions, None

    # -- the way back -----------------------------------------------------------------------------

    def _way_back(
        self, states: list[State], budget: int, ends: float
    ) -> tuple[_Way | None, int, str | None]:
        ways: list[dict[int, _Way]] = [
            {j: _Way((op,), self.task.cost(op)) for j, op in found.items()}
            for found in self.single_steps(states)
        ]
        rows = _rows(states)
        for k, j in np.argwhere(self.order.at_least_batch(rows, rows)).tolist():
            ways[k][j] = _Way((), 0)
        used = 0
        while True:
            distances, chosen = _cheapest(ways, len(states) - 1)
            if 0 in distances:
                return _joined_way(ways, chosen, len(states) - 1), used, None
            # The walk is back as far as `earliest`; the step before it is the one that is missing.
            earliest = min(distances)
            half = (budget - used + 1) // 2
            way, expansions, limit = self.search(states[earliest], states[earliest - 1], half, ends)
            used += expansions
            if way is not None:
                self._add_way(ways[earliest], states[earliest], way, rows)
            elif limit is None:
                return None, used, None
            else:
                # The rest of the budget goes into the direct way; a walk that wandered about may have a short one.
                way, expansions, limit = self.search(states[-1], states[0], budget - used, ends)
                return way, used + expansions, limit

    def _add_way(self, known: dict[int, _Way], state: State, way: _Way, rows: _States) -> None:
        """A way leads not only to its end: on a ring, back to the step before may pass the start of the walk."""
        passed, cost = [(state, 0)], 0
        for op in way.operators:
            cost += self.task.cost(op)
            passed.append((self.task.apply(passed[-1][0], op), cost))
        reached = self.order.at_least_batch(_rows([state for state, _ in passed]), rows)
        for i, j in np.argwhere(reached).tolist():
            if j not in known or passed[i][1] < known[j].cost:
                known[j] = _Way(way.operators[:i], passed[i][1])

    def _successors(self, state: State) -> tuple[list[tuple[int, int]], _States]:
        """Pairs of row and operator, and the resulting states, a row each."""
        row = _rows([state])
        _, operators = self.task.applicable_batch(row)
        copies = np.repeat(row, len(operators), axis=0)
        return list(enumerate(operators.tolist())), self.task.apply_batch(copies, operators)

    def _joined(self, state: State, way: _Way, plan: Sequence[int]) -> UndoPlan:
        operators = (*way.operators, *plan)
        cost = plan_cost(self.task, state, operators)
        if cost is None:
            raise AssertionError(f"not a plan for {state}: {operators}")
        return UndoPlan(operators, cost, len(way.operators), way.cost)

    def _check_plan(self, state: State, plan: Sequence[int]) -> None:
        if plan_cost(self.task, state, plan) is None:
            raise UsageError(
                "the plan to go back to is no plan for its state", where=self.task.name
            )

    def _check_walk(self, states: Sequence[State], operators: Sequence[int]) -> None:
        if len(states) != len(operators) + 1:
            raise UsageError(
                f"a walk of {len(states)} states and {len(operators)} operators",
                expected="one state more than operators",
            )
        for k, op in enumerate(operators):
            if not _applies(self.task, states[k], op) or (
                self.task.apply(states[k], op) != states[k + 1]
            ):
                raise UsageError(
                    f"operator {op} does not lead from state {k} of the walk to the next"
                )


def plan_cost(task: Task, state: State, plan: Sequence[int]) -> int | None:
    """What the plan costs, by execution; None: it is no plan for this state."""
    cost = 0
    for op in plan:
        if not _applies(task, state, op):
            return None
        state = task.apply(state, op)
        cost += task.cost(op)
    return cost if task.is_goal(state) else None


def _rows(states: Sequence[State]) -> _States:
    return np.array([state.values for state in states], dtype=np.int32)


def _applies(task: Task, state: State, op: int) -> bool:
    return 0 <= op < task.operator_count and all(
        state[variable] == value for variable, value in task.preconditions(op)
    )


def _cheapest(
    ways: list[dict[int, _Way]], start: int
) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    """Dijkstra over the states of the walk: (cost, operators) of those reached, and where each was reached from."""
    distances: dict[int, tuple[int, int]] = {}
    chosen: dict[int, int] = {}
    queue: list[tuple[int, int, int, int]] = [(0, 0, start, start)]
    while queue:
        cost, length, k, parent = heapq.heappop(queue)
        if k in distances:
            continue
        distances[k] = (cost, length)
        chosen[k] = parent
        for j, way in ways[k].items():
            if j not in distances:
                heapq.heappush(queue, (cost + way.cost, length + len(way.operators), j, k))
    return distances, chosen


def _joined_way(ways: list[dict[int, _Way]], chosen: dict[int, int], start: int) -> _Way:
    parts = []
    k = 0
    while k != start:
        parts.append(ways[chosen[k]][k])
        k = chosen[k]
    parts.reverse()
    return _Way(
        tuple(op for part in parts for op in part.operators), sum(part.cost for part in parts)
    )


def _path(parents: dict[State, tuple[State, int]], state: State) -> tuple[int, ...]:
    operators = []
    while state in parents:
        state, op = parents[state]
        operators.append(op)
    return tuple(reversed(operators))


__all__ = ["DEFAULT_BUDGET", "UndoPlan", "Undoer", "Undoing", "plan_cost", "value_preorder"]
