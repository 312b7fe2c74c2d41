"""Oracles that search near what is known: the policy's run, the cheapest known plan, the states nearby."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import UsageError
from misstep.oracles.bounds import BoundStore, Leaves, finite_or_none
from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.oracles.together import Runs
from misstep.ranges import bytes_of
from misstep.tasks.census import SMALL, small_task
from misstep.tasks.task import Task


class Elimination(Source):
    """Action elimination: operators of the run that it can do without."""

    name = "elimination"

    def search(self, question: Question) -> Report:
        plan = question.plan()
        if plan is None:
            return Report()
        task, state = question.bench.task, question.state
        start = time.perf_counter()
        rest = _core.best_elimination(task, state, plan, seconds=self.seconds)
        out_of_time = time.perf_counter() - start >= self.seconds
        question.bench.bounds.add_plan(state, rest, sum(task.cost(op) for op in rest))
        return Report(limit="time" if out_of_time else None)


class Aras(Source):
    """Aras: elimination, and search around the plan in the graph that all plans share."""

    name = "aras"

    def __init__(
        self,
        generated: int | None = 100_000,
        *,
        growth: int = 1_000,
        best: bool = False,
        memory: int | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        if growth < 1:
            raise UsageError(f"aras: growth is {growth}", expected="at least 1")
        self.generated = generated
        self.growth = growth
        self.best = best  # else any plan will do that is cheaper than the policy's
        self.memory = memory  # MiB of the graph that all plans share

    def search(self, question: Question) -> Report:
        plan = question.bench.bounds.witness(question.state)
        if plan is None:
            return Report()
        result = question.bench.bounds.graph.improve(
            question.state,
            plan,
            stop_below=None if self.best else finite_or_none(question.policy_cost.lower_bound),
            eliminate=True,
            growth=self.growth,
            generated=self.generated,
            bytes=bytes_of(self.memory),
            seconds=self.seconds,
        )
        question.bench.bounds.add_plan(question.state, result.plan, result.cost)
        if result.closed:
            question.bench.bounds.raise_lower_bound(question.state, result.cost)
        return Report(result.expansions, limit=result.limit if result.status == "limit" else None)


class Lookahead(Source):
    """Lookahead: what the policy does after every sequence of a few operators."""

    name = "lookahead"

    def __init__(
        self,
        depth: int = 2,
        *,
        leaves: int | None = 1_000,
        expansions: int | None = 10_000,
        first: bool = False,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        self.depth = depth
        self.leaves = leaves
        self.expansions = expansions
        self.first = first  # stop at the first leaf, or batch of them, that shows a bug

    def search(self, question: Question) -> Report:
        found, order, limit = self._leaves(question, question.bench.bounds)
        batch = question.bench.runner.batch_size if self.first else max(1, len(order))
        for begin in range(0, len(order), batch):
            runs = self._runs(question, found, order[begin : begin + batch])
            question.bench.run(runs.states, runs.max_steps)
            if self.first and question.verdict.is_bug:
                break
        return Report(found.expansions, limit=limit)

    def foresee(self, question: Question) -> list[Runs]:
        # On a store of its own: what is known when a state is tested must not depend on who asked early.
        found, order, _ = self._leaves(question, BoundStore(question.bench.task))
        if self.first:
            order = order[: question.bench.runner.batch_size]
        return [self._runs(question, found, order)] if len(order) else []

    def _leaves(
        self, question: Question, bounds: BoundStore
    ) -> tuple[Leaves, NDArray[np.intp], str | None]:
        """Where the lookahead ends, in which order to look there, and the limit that it ran into."""
        found = bounds.look_ahead(
            question.state,
            self.depth,
            question.policy_cost.lower_bound,
            expansions=self.expansions,
            seconds=self.seconds,
        )
        # Cheapest first: these have most to gain, and the order must not depend on anything else.
        order = np.argsort(found.costs, kind="stable")
        if self.leaves is not None and len(order) > self.leaves:
            return found, order[: self.leaves], found.limit or "leaves"
        return found, order, found.limit

    def _runs(self, question: Question, found: Leaves, rows: NDArray[np.intp]) -> Runs:
        left = question.policy_cost.lower_bound - int(found.costs[rows[0]])
        return Runs(found.states[rows], question.bench.steps_worth_taking(left))


class Exact(Source):
    """Expands all reachable states: exact on a task that is small enough."""

    name = "exact"

    def __init__(self, states: int = 1_000_000, *, seconds: float = DEFAULT_SECONDS) -> None:
        super().__init__(seconds)
        self.states = states

    def search(self, question: Question) -> Report:
        expansions, limit = question.bench.bounds.close(
            question.state, expansions=self.states, seconds=self.seconds
        )
        return Report(expansions, limit="states" if limit == "expansions" else limit)


class Census(Source):
    """Exact on a task with a small reachable state space, which is enumerated once and then only looked up.

    On a larger task it gives no answer and costs almost nothing, so it may come first in every spec. `exact` is for
    states from which few states are reachable although the task is large.
    """

    name = "census"

    def __init__(self, states: int = SMALL) -> None:
        super().__init__()
        self.states = states

    def settles(self, task: Task) -> bool:
        return small_task(task, self.states) is not None

    def search(self, question: Question) -> Report:
        small = small_task(question.bench.task, self.states)
        distance = None if small is None else small.distance(question.state)
        if small is None or distance is None:
            return (
                Report()
            )  # too large, or a state that cannot be reached and that somebody has made
        store = question.bench.bounds
        if math.isfinite(distance):
            store.add_plan(question.state, small.plan(question.state), int(distance))
        store.raise_lower_bound(question.state, distance if math.isinf(distance) else int(distance))
        return Report()


__all__ = ["Aras", "Census", "Elimination", "Exact", "Lookahead"]
