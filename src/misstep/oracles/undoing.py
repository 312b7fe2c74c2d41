"""The undo oracle: back along the walk that found a state, then on with a plan of a state that the walk has passed.

P22 has two oracles for tasks in which every operator can be undone. UndoQual: every reachable state is solvable, so a
state where the policy fails is a bug. InvQuant: one plan goes back to the initial state, and then does as the policy
does there. Here both are one, and need no such task: what counts is that this walk can be undone, as far as
a state with a plan. The plan found is the witness that UndoQual leaves out.

The walk comes from the initial state. The plans are those that the bound store knows. If it knows none for any state of
the walk, the policy's runs from these states may be plans; and if none reaches the goal, enforced hill-climbing
looks for a plan of the initial state, once. Where every operator can be undone there are no dead ends, and one
such plan decides every state where the policy fails. So if helpful operators were not enough there, the search goes on
with all operators.
"""

from __future__ import annotations

import math

import numpy as np

from misstep import _core
from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.oracles.undo import DEFAULT_BUDGET, walk_states
from misstep.oracles.workbench import Workbench
from misstep.tasks.task import State

DEFAULT_EVALUATIONS = 10_000  # of the search for a plan of the initial state


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
        plans, spent = store.plan_costs(rows), Report()
        if np.isinf(plans).all():
            bench.run(rows)
            plans = store.plan_costs(rows)
        if np.isinf(plans).all():
            spent = self._base_plan(bench, walk.start)
            plans = store.plan_costs(rows)
        # The policy's run is in the store, so what is not cheaper than this says nothing new.
        bound = store.plan_cost(question.state)
        if math.isinf(plans.min()):
            return spent
        found = bench.undoer.undo(rows, plans, bound, self.expansions, self.seconds)
        if found.way is not None:
            target = found.way.target
            operators = [*found.way.operators, *(store.witness(states[target]) or ())]
            store.add_plan(question.state, operators, found.way.cost + int(plans[target]))
        expansions = spent.expansions + found.expansions
        return Report(expansions, spent.evaluations, found.limit or spent.limit)

    def _base_plan(self, bench: Workbench, state: State) -> Report:
        """Look for a plan from where the walk begins, once."""
        undoer = bench.undoer
        if state in undoer.searched:
            return Report()
        undoer.searched.add(state)
        spent = self._climb(bench, state, True, self.evaluations)
        left = self.evaluations - spent.evaluations
        if spent.limit is None and left > 0 and math.isinf(bench.bounds.plan_cost(state)):
            if not undoer.all_undoable:
                return spent
            more = self._climb(bench, state, False, left)
            spent = Report(
                spent.expansions + more.expansions,
                spent.evaluations + more.evaluations,
                more.limit,
            )
        return spent

    def _climb(self, bench: Workbench, state: State, helpful: bool, evaluations: int) -> Report:
        search = _core.EnforcedHillClimbing(
            bench.task, bench.heuristic("ff"), state, None, helpful=helpful
        )
        result = search.run(evaluations=evaluations, seconds=self.seconds)
        if result.cost is not None:
            bench.bounds.add_plan(state, result.plan, result.cost)
        limit = result.limit if result.status == "limit" else None
        return Report(result.expansions, result.evaluations, limit)


__all__ = ["DEFAULT_EVALUATIONS", "Undo"]
