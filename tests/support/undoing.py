"""Going back along a walk, slow and obvious: the twin of core/oracles/way_back.h."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep._core import HMax
from misstep.oracles.undo import DEFAULT_BUDGET, Undoing, Way
from misstep.tasks.task import State, Task
from support.preorder import StatePreorder

_INFINITY = math.inf
_States = NDArray[np.int32]


@dataclass(frozen=True)
class _Way:
    operators: tuple[int, ...]
    cost: int


class NaiveUndoer:
    """Undoes walks of one task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.order = StatePreorder(task)
        self._hmax = HMax(task)

    def undo(
        self,
        states: list[State],
        plan_costs: Sequence[float],
        bound: float = math.inf,
        budget: int = DEFAULT_BUDGET,
    ) -> Undoing:
        """A way from the last state of the walk to one with a plan, together cheaper than the bound."""
        ways: list[dict[int, _Way]] = [
            {j: _Way((op,), self.task.cost(op)) for j, op in found.items()}
            for found in self.single_steps(states)
        ]
        rows = _rows(states)
        for k, j in np.argwhere(self.order.at_least_batch(rows, rows)).tolist():
            ways[k][j] = _Way((), 0)
        used = 0
        last = len(states) - 1
        while True:
            distances, chosen = _cheapest(ways, last)
            totals = [(cost + plan_costs[k], length, k) for k, (cost, length) in distances.items()]
            total, _, target = min(totals)
            if total < bound:
                way = _joined_way(ways, chosen, last, target)
                return Undoing(Way(way.operators, way.cost, target), used, None)
            earliest = min(distances)
            further = [k for k in range(earliest) if plan_costs[k] < bound]
            if not further:
                return Undoing(None, used, None)
            half = (budget - used + 1) // 2
            found, expansions, limit = self.search(states[earliest], states[earliest - 1], half)
            used += expansions
            if found is not None:
                self._add_way(ways[earliest], states[earliest], found, rows)
            elif limit is None:
                return Undoing(None, used, None)
            else:
                target = further[-1]
                direct, expansions, limit = self.search(states[last], states[target], budget - used)
                used += expansions
                if direct is None or direct.cost + plan_costs[target] >= bound:
                    return Undoing(None, used, limit)
                return Undoing(Way(direct.operators, direct.cost, target), used, limit)

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
        self, start: State, target: State, budget: int
    ) -> tuple[_Way | None, int, str | None]:
        """A cheapest way to a state at least as good as the target; the expansions; the limit that ended it, if any."""
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


def _rows(states: Sequence[State]) -> _States:
    return np.array([state.values for state in states], dtype=np.int32)


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


def _joined_way(
    ways: list[dict[int, _Way]], chosen: dict[int, int], start: int, target: int
) -> _Way:
    parts = []
    k = target
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
