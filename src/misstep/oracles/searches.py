"""Oracles that search from the state: A*, enforced hill-climbing, greedy search, and the plain lower bound."""

from __future__ import annotations

import math
from abc import abstractmethod

from misstep import _core
from misstep.errors import UsageError
from misstep.oracles.bounds import finite_or_none
from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.oracles.values import Cost
from misstep.oracles.workbench import Workbench
from misstep.planning import known_heuristic
from misstep.ranges import bytes_of
from misstep.tasks.task import State

_Search = _core.AStar | _core.GreedyBestFirst | _core.EnforcedHillClimbing


class SearchOracle(Source):
    """Searches for a plan that is cheaper than the best known one and than what the policy has spent."""

    def __init__(
        self,
        *,
        expansions: int | None = None,
        evaluations: int | None = None,
        memory: int | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        self.expansions = expansions
        self.evaluations = evaluations
        self.memory = memory  # MiB

    @abstractmethod
    def engine(self, bench: Workbench, state: State, bound: int | None) -> _Search:
        """The search to run from the state, for plans cheaper than the bound."""

    def search(self, question: Question) -> Report:
        bound = question.bound
        if bound <= 0:
            return Report()  # no plan is cheaper than cost 0
        state = question.state
        result = self.engine(question.bench, state, finite_or_none(bound)).run(
            expansions=self.expansions,
            evaluations=self.evaluations,
            bytes=bytes_of(self.memory),
            seconds=self.seconds,
        )
        store = question.bench.bounds
        if result.cost is not None:
            store.add_plan(state, result.plan, result.cost)
        # With a limit, an exhausted search or a plan: what every search says of itself, None being infinity.
        lower: Cost = math.inf if result.lower_bound is None else result.lower_bound
        store.raise_lower_bound(state, lower)
        limit = result.limit if result.status == "limit" else None
        return Report(result.expansions, result.evaluations, limit)


class AStar(SearchOracle):
    """A*: the cheapest plan, or the proof that none is cheaper than the policy's."""

    name = "astar"

    def __init__(
        self,
        *,
        heuristic: str = "auto",
        expansions: int | None = None,
        evaluations: int | None = 1_000,
        memory: int | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(
            expansions=expansions, evaluations=evaluations, memory=memory, seconds=seconds
        )
        choices = ["auto", "lmcut", "max", "blind"]
        if heuristic not in choices:
            raise UsageError(
                f"astar cannot use the heuristic {heuristic!r}", expected=", ".join(choices)
            )
        self.heuristic = None if heuristic == "blind" else heuristic

    def engine(self, bench: Workbench, state: State, bound: int | None) -> _Search:
        name = bench.admissible if self.heuristic == "auto" else self.heuristic
        heuristic = None if name is None else bench.heuristic(name)
        return _core.AStar(bench.task, heuristic, state, bound)


class EnforcedHillClimbing(SearchOracle):
    """Enforced hill-climbing: some plan, quickly, or none."""

    name = "ehc"

    def __init__(
        self,
        *,
        heuristic: str = "ff",
        helpful: bool = True,
        by_cost: bool = False,
        expansions: int | None = None,
        evaluations: int | None = 10_000,
        memory: int | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(
            expansions=expansions, evaluations=evaluations, memory=memory, seconds=seconds
        )
        self.heuristic = known_heuristic(heuristic)
        self.helpful = helpful
        self.by_cost = by_cost

    def engine(self, bench: Workbench, state: State, bound: int | None) -> _Search:
        return _core.EnforcedHillClimbing(
            bench.task,
            bench.heuristic(self.heuristic),
            state,
            bound,
            helpful=self.helpful,
            by_cost=self.by_cost,
        )


class GreedyBestFirst(SearchOracle):
    """Greedy best-first search: some plan within n expansions."""

    name = "gbfs"

    def __init__(
        self,
        expansions: int | None = 1_000,
        *,
        heuristic: str = "ff",
        evaluations: int | None = None,
        memory: int | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(
            expansions=expansions, evaluations=evaluations, memory=memory, seconds=seconds
        )
        self.heuristic = known_heuristic(heuristic)

    def engine(self, bench: Workbench, state: State, bound: int | None) -> _Search:
        heuristic = bench.heuristic(self.heuristic)
        return _core.GreedyBestFirst(bench.task, heuristic, state, bound)


class LMCut(Source):
    """The LM-cut heuristic: proves cheap runs optimal and dead ends dead. Never finds a bug."""

    name = "lmcut"

    def __init__(self) -> None:
        super().__init__()

    def search(self, question: Question) -> Report:
        heuristic = question.bench.heuristic(question.bench.admissible)
        question.bench.bounds.raise_lower_bound(question.state, heuristic(question.state))
        return Report(evaluations=1)


__all__ = ["AStar", "EnforcedHillClimbing", "GreedyBestFirst", "LMCut", "SearchOracle"]
