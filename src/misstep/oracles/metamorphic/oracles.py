"""SMO and BMO: state morphing and bound maintenance.

SMO changes the state a little, in ways that a dominance function can compare, and runs the policy there: if it fares
better than the change is worth, it could have done better here. BMO compares every state that it has seen with every
other, keeps the bounds up to date, and looks a few steps ahead for states that compare well.

Neither plans. What they find are bounds in the store, with derivations as witnesses; a search may turn one into a
plan later.
"""

from __future__ import annotations

import hashlib
import math
import time
from abc import abstractmethod
from itertools import pairwise

import numpy as np

from misstep import _core
from misstep._core import CounterRandom
from misstep.errors import UnsupportedError, UsageError
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.planning import known_heuristic
from misstep.tasks.task import State

BATCH = 10  # expansions of a lookahead between two looks at what they have told


class MetamorphicOracle(Source):
    """An oracle that needs a dominance function; without one it finds nothing, and says why."""

    needs_dominance = True

    def search(self, question: Question) -> Report:
        dominance = question.bench.dominance
        if isinstance(dominance, str):
            raise UnsupportedError(dominance)
        return self.compare(question, dominance)

    @abstractmethod
    def compare(self, question: Question, dominance: Dominance) -> Report:
        """Put bounds into the store that comparisons with other states give."""

    def blame_steps(self, question: Question, dominance: Dominance) -> None:
        """The local bug test: a step of the run is bad if the state before it is better than its cost makes up for."""
        states = question.bench.trace(question.state).states
        for before, after in pairwise(states):
            value = dominance.value(dominated=after, dominating=before)
            if value is not None:
                question.bench.bounds.add_dominance(after, before, value)


class StateMorphing(MetamorphicOracle):
    """SMO: the policy's runs from states that differ a little."""

    name = "smo"

    def __init__(
        self,
        size: int = 10,
        *,
        sample: bool = True,
        seed: int = 0,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        if size < 1:
            raise UsageError(f"smo: size is {size}", expected="at least 1")
        self.size = size
        self.sample = sample  # as in P23; else the best by their values
        self.seed = seed

    def compare(self, question: Question, dominance: Dominance) -> Report:
        self.blame_steps(question, dominance)
        if question.verdict.is_bug:
            return Report()
        morphs, limit = self.draw(question, dominance)
        budget = (
            question.policy_cost.lower_bound
        )  # a run from s that spends this plus D(s,t) proves nothing
        worth = [(s, d) for s, d in morphs if budget + d > 0]
        if not worth:
            return Report(limit=limit)
        question.bench.run(
            np.array([s.values for s, _ in worth], dtype=np.int32),
            question.bench.steps_worth_taking(budget + max(d for _, d in worth)),
        )
        for morph, value in worth:
            question.bench.bounds.add_dominance(morph, question.state, value)
        return Report(limit=limit)

    def draw(
        self, question: Question, dominance: Dominance
    ) -> tuple[list[tuple[State, int]], str | None]:
        """Those to run, without dead ends; and the limit, if the time was up before there were enough."""
        ends = time.perf_counter() + self.seconds
        candidates = dominance.morphs(question.state)
        if self.sample:
            random = CounterRandom(self.seed, _stream(question.state))
            for k in range(len(candidates) - 1, 0, -1):
                other = random.below(k + 1)
                candidates[k], candidates[other] = candidates[other], candidates[k]
        hmax = question.bench.heuristic("max")
        alive: list[tuple[State, int]] = []
        for morph, value in candidates:
            if len(alive) == self.size:
                break
            if time.perf_counter() >= ends:
                return alive, "time"
            if not math.isinf(hmax(morph)):
                alive.append((morph, value))
        return alive, None


def _stream(state: State) -> int:
    """A number that only the state decides: its random numbers must not depend on which states came before."""
    values = np.array(state.values, dtype="<i4").tobytes()
    return int.from_bytes(hashlib.blake2b(values, digest_size=8).digest(), "little")


class BoundMaintenance(MetamorphicOracle):
    """BMO-n: comparisons with all states seen, and with those found by n steps of a greedy search.

    Every tested state gets into the comparison pool, as in Algorithm 5 of P23, also those that were decided without
    this oracle; and what others have found out about a state is passed on to the pool.
    """

    name = "bmo"
    keeps_pool = True

    def __init__(
        self,
        expansions: int = 100,
        *,
        heuristic: str = "ff",
        path: bool = True,
        best: bool = False,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        self.expansions = expansions
        self.best = best
        self.heuristic = known_heuristic(heuristic)
        self.path = path  # take the states of the policy's runs into the pool

    def compare(self, question: Question, dominance: Dominance) -> Report:
        self.blame_steps(question, dominance)
        pool = self._pool(question, dominance)
        self._take_in(question, pool)
        if self.expansions == 0 or not self._goes_on(question):
            return Report()
        return self._look_ahead(question, pool)

    def observe(self, question: Question) -> None:
        dominance = question.bench.dominance
        if isinstance(dominance, str):
            return
        pool = self._pool(question, dominance)

        def take_in() -> Report:
            if question.state in pool:
                pool.settle()  # the state itself is known; its bound may be better by now
            else:
                self._take_in(question, pool)
            return Report()

        self.work(question, take_in)

    def _pool(self, question: Question, dominance: Dominance) -> ComparisonPool:
        if question.bench.pool is None:
            question.bench.pool = ComparisonPool(question.bench.bounds, dominance)
        return question.bench.pool

    def _take_in(self, question: Question, pool: ComparisonPool) -> None:
        states = question.bench.trace(question.state).states if self.path else [question.state]
        pool.add(reversed(states))
        pool.settle()

    def _goes_on(self, question: Question) -> bool:
        verdict = question.verdict
        return not (verdict.gap.is_exact if self.best else verdict.is_bug)

    def _look_ahead(self, question: Question, pool: ComparisonPool) -> Report:
        """Greedy search for states that compare well. What it expands is in the store: bounds find their way back."""
        store, spent = question.bench.bounds, question.policy_cost.lower_bound
        ends = time.perf_counter() + self.seconds
        heuristic = question.bench.heuristic(self.heuristic)
        search = _core.GreedyLookahead(store.graph, heuristic, question.state)
        limit = None
        while not search.exhausted and search.expansions < self.expansions:
            pool.infer(search.advance(min(BATCH, self.expansions - search.expansions)))
            lower, upper = store.bounds(question.state)
            if upper == lower or (upper < spent and not self.best):
                break
            if time.perf_counter() > ends:
                limit = "time"
                break
        pool.settle()
        return Report(search.expansions, search.evaluations, limit)


__all__ = ["BoundMaintenance", "MetamorphicOracle", "StateMorphing"]
