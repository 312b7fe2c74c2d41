"""The undo oracle: go back along the walk that found a state, then follow a plan of a state on the walk.

P22 has two oracles for tasks in which every operator can be undone. UndoQual: every reachable state is solvable, so a
state where the policy fails is a bug. InvQuant: a plan goes back to the initial state and then follows the policy. Here
both are one oracle, and it works on any task: it is enough that this walk can be undone up to a state with a plan. The
plan is the witness that UndoQual does not give.

The walk comes from the initial state. The plans are those that the bound store knows. If it knows none for any state of
the walk, the policy's runs from these states may be plans. If none reaches the goal either, but the walk can be undone,
a search looks for a plan of the initial state, once: enforced hill-climbing, and greedy search where that has run into
a dead end. Where every operator can be undone, this one plan decides every state where the policy fails, so the search
may take longer.
"""

from __future__ import annotations

import time

import numpy as np

from misstep import _core
from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.oracles.undo import DEFAULT_BUDGET, walk_states
from misstep.oracles.workbench import Workbench
from misstep.tasks.task import State

DEFAULT_EVALUATIONS = 10_000  # of the search for a plan of the initial state
LONGER = 10  # times as many where every operator can be undone
_Search = _core.EnforcedHillClimbing | _core.GreedyBestFirst


class Undo(Source):
    """A plan for a pool state from a plan for a state on the way to it."""

    name = "undo"

    def __init__(
        self,
        expansions: int = DEFAULT_BUDGET,
        *,
        evaluations: int = DEFAULT_EVALUATIONS,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        self.expansions = expansions
        self.evaluations = evaluations

    def search(self, question: Question) -> Report:
        walk, bench = question.walk, question.bench
        if walk is None:
            return Report()
        store = bench.bounds
        states = walk_states(bench.task, walk.start, walk.operators)
        rows = np.array([state.values for state in states], dtype=np.int32)
        bench.run(rows[:1])
        plans = store.plan_costs(rows)
        if np.isinf(plans).all():
            bench.run(rows)
            plans = store.plan_costs(rows)
        has_plan = bool(np.isfinite(plans).any())
        if not has_plan:
            plans[0] = 0  # is there a way back to the start?
        # The policy's run is in the store, so what is not cheaper than this says nothing new.
        bound = store.plan_cost(question.state)
        found = bench.undoer.undo(rows, plans, bound, self.expansions, self.seconds)
        spent = Report(found.expansions, limit=found.limit)
        if found.way is None:
            return spent
        target = states[found.way.target]
        if not has_plan:
            spent = self._plan_from(bench, target, spent)
        plan = store.witness(target)
        if plan is not None:
            cost = found.way.cost + int(store.plan_cost(target))
            store.add_plan(question.state, [*found.way.operators, *plan], cost)
        return spent

    def _plan_from(self, bench: Workbench, state: State, spent: Report) -> Report:
        """Search for a plan, once for each state; returns what was spent in all."""
        undoer = bench.undoer
        if state in undoer.searched:
            return spent
        undoer.searched.add(state)
        ends = time.perf_counter() + self.seconds

        def run(search: _Search, evaluations: int) -> _core.SearchResult:
            return search.run(evaluations=evaluations, seconds=max(0, ends - time.perf_counter()))

        heuristic = bench.heuristic("ff")
        climb = _core.EnforcedHillClimbing(bench.task, heuristic, state, None)
        result = run(climb, self.evaluations)
        if result.limit == "evaluations" and undoer.all_undoable:
            result = run(climb, LONGER * self.evaluations)
        effort = (result.expansions, result.evaluations)
        if result.status == "exhausted" and result.evaluations < self.evaluations:
            greedy = _core.GreedyBestFirst(bench.task, heuristic, state, None)
            result = run(greedy, self.evaluations - result.evaluations)
            effort = (effort[0] + result.expansions, effort[1] + result.evaluations)
        if result.cost is not None:
            bench.bounds.add_plan(state, result.plan, result.cost)
        limit = result.limit if result.status == "limit" else None
        return Report(spent.expansions + effort[0], effort[1], limit)


__all__ = ["DEFAULT_EVALUATIONS", "Undo"]
