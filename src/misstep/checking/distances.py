"""Compute the costs of the cheapest plans of a task by listing all states: slow, simple, independent code.

A full replay computes lower bounds again. If few enough states can be reached from the tested ones, this is done here:
forward to all of them, then backward from the goals.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

from misstep.checking.gaps import Cost
from misstep.checking.sas import SasTask, State
from misstep.checking.semantics import apply, is_goal

LIMIT = 5_000_000  # tests of an operator in a state: some seconds


class Distances:
    """h* of all states that can be reached; `known` is false if there were too many."""

    def __init__(self, task: SasTask, starts: Iterable[State], limit: int = LIMIT) -> None:
        self._task = task
        self._cost: dict[State, tuple[int, int]] = {}
        self._before: dict[State, list[tuple[State, int]]] = {}
        self.known = self._explore(dict.fromkeys(starts), max(1, limit))
        if self.known:
            self._go_back()
        self._before.clear()

    def _explore(self, found: dict[State, None], limit: int) -> bool:
        operators = [(own.preconditions(), own) for own in self._task.operators]
        queue = list(found)
        for count, state in enumerate(queue):  # grows
            if count * len(operators) > limit:
                return False
            for conditions, operator in operators:
                if all(state[var] == value for var, value in conditions):
                    successor = apply(state, operator)
                    self._before.setdefault(successor, []).append((state, operator.cost))
                    if successor not in found:
                        found[successor] = None
                        queue.append(successor)
        self._all = found.keys()
        return True

    def _go_back(self) -> None:
        """The cost of a cheapest plan, and the steps of the shortest one among these."""
        heap = [(0, 0, state) for state in self._all if is_goal(state, self._task)]
        while heap:
            cost, steps, state = heapq.heappop(heap)
            if state in self._cost:
                continue
            self._cost[state] = cost, steps
            for before, own in self._before.get(state, ()):
                if before not in self._cost:
                    heapq.heappush(heap, (cost + own, steps + 1, before))

    def of(self, state: State) -> Cost | None:
        """None: not known."""
        if not self.known or state not in self._all:
            return None
        return self._cost.get(state, (math.inf, math.inf))[0]

    def steps(self, state: State) -> Cost | None:
        """The steps of a shortest one among the cheapest plans; None: not known."""
        if not self.known or state not in self._all:
            return None
        return self._cost.get(state, (math.inf, math.inf))[1]


__all__ = ["LIMIT", "Distances"]
