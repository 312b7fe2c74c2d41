"""Smallest repairs, slow and obvious: the twin of core/policygraph/repair.h."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from misstep.faults.repair import DEFAULT_EXPANSIONS, Deviation, Repair
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State


@dataclass(frozen=True)
class _Label:
    """A way to a state."""

    state: State
    deviations: int
    cost: int
    parent: _Label | None
    operator: int


def naive_repair(
    runner: PolicyRunner,
    state: State,
    *,
    cost_bound: int | None = None,
    max_expansions: int = DEFAULT_EXPANSIONS,
    lower_bound: Callable[[State], int | float] | None = None,
) -> Repair:
    """A plan from the state with the fewest deviations from the policy, of cost at most `cost_bound` if given.

    `lower_bound` is an admissible heuristic; it prunes dead ends and, with a cost bound, what cannot keep within it.
    """
    return _Search(runner, cost_bound, max_expansions, lower_bound).run(state)


class _Search:
    def __init__(
        self,
        runner: PolicyRunner,
        cost_bound: int | None,
        max_expansions: int,
        lower_bound: Callable[[State], int | float] | None,
    ) -> None:
        self.runner = runner
        self.task = runner.task
        self.bounded = cost_bound is not None
        self.cost_bound = math.inf if cost_bound is None else cost_bound
        self.max_expansions = max_expansions
        self.estimate = lower_bound
        self.estimates: dict[State, int | float] = {}
        self.expansions = 0
        self.cheapest: dict[State, int] = {}  # of the labels expanded: all have as few deviations
        self.best: _Label | None = None  # a goal label
        self.layer: list[tuple[int, int, _Label]] = []
        self.next_layer: list[_Label] = []
        self.labels = 0

    def run(self, state: State) -> Repair:
        deviations = 0
        self.next_layer = [_Label(state, 0, 0, None, -1)] if self._promising(state, 0) else []
        while self.next_layer:
            self._open_layer()
            while self.layer:
                _, _, label = heapq.heappop(self.layer)
                if self._dominated(label):
                    continue
                if self.task.is_goal(label.state):
                    return self._repair("minimal", label, deviations)
                if self.expansions >= self.max_expansions:
                    status = "limit" if self.best is None else "found"
                    return self._repair(status, self.best, deviations)
                self._expand(label)
            deviations += 1
        return self._repair("impossible", None, deviations)

    def _open_layer(self) -> None:
        """The labels with one more deviation; the policy is asked about all of them, and where it leads, at once."""
        labels = [label for label in self.next_layer if not self._dominated(label)]
        self.next_layer = []
        if labels:
            rows = np.array([label.state.values for label in labels], dtype=np.int32)
            steps = min(DEFAULT_MAX_STEPS, self.max_expansions - self.expansions)
            self.runner.run(rows, max_steps=max(1, steps))
        for label in labels:
            self._push(label)

    def _push(self, label: _Label) -> None:
        self.labels += 1
        heapq.heappush(self.layer, (label.cost, self.labels, label))

    def _expand(self, label: _Label) -> None:
        self.expansions += 1
        self.cheapest[label.state] = label.cost
        decision = self._decision(label.state)
        for op in self.task.applicable(label.state):
            follows = op == decision
            successor = _Label(
                self.task.apply(label.state, op),
                label.deviations + (not follows),
                label.cost + self.task.cost(op),
                label,
                op,
            )
            if self._dominated(successor) or not self._promising(successor.state, successor.cost):
                continue
            if self.task.is_goal(successor.state) and (
                self.best is None or _rank(successor) < _rank(self.best)
            ):
                self.best = successor
            if follows:
                self._push(successor)
            else:
                self.next_layer.append(successor)

    def _decision(self, state: State) -> int:
        ids = self.runner.run(np.array([state.values], dtype=np.int32), max_steps=1).ids
        return int(self.runner.graph.decisions(ids)[0])

    def _dominated(self, label: _Label) -> bool:
        cost = self.cheapest.get(label.state)
        # Without a bound more deviations are never worth it, however cheap.
        return cost is not None and (not self.bounded or cost <= label.cost)

    def _promising(self, state: State, cost: int) -> bool:
        if self.estimate is None:
            return cost <= self.cost_bound
        if state not in self.estimates:
            self.estimates[state] = self.estimate(state)
        estimate = self.estimates[state]
        return not math.isinf(estimate) and cost + estimate <= self.cost_bound

    def _repair(self, status: str, label: _Label | None, lower_bound: int) -> Repair:
        cost = None if label is None else label.cost
        operators: list[int] = []
        states: list[State] = []
        while label is not None and label.parent is not None:
            operators.append(label.operator)
            states.append(label.parent.state)
            label = label.parent
        deviations = []
        for step, (state, op) in enumerate(zip(states[::-1], operators[::-1], strict=True)):
            decision = self._decision(state)
            if decision != op:
                deviations.append(Deviation(step, state, decision, op))
        return Repair(
            status,
            tuple(reversed(operators)),
            cost,
            tuple(deviations),
            lower_bound,
            self.expansions,
        )


def _rank(label: _Label) -> tuple[int, int]:
    return label.deviations, label.cost
