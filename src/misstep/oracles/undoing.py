"""The undo oracle: back along the walk, then on with a plan of where the walk began.

With it every task has the undo and inverse oracles of P22, also where only some operators can be undone.
"""

from __future__ import annotations

from misstep.oracles.oracle import DEFAULT_SECONDS, Question, Report, Source
from misstep.oracles.undo import DEFAULT_BUDGET


class Undo(Source):
    """A plan for a pool state from a plan for its reference state."""

    name = "undo"

    def __init__(
        self,
        expansions: int = DEFAULT_BUDGET,
        *,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(seconds)
        self.expansions = expansions

    def search(self, question: Question) -> Report:
        walk = question.walk
        if walk is None or not walk.operators:
            return Report()
        question.bench.policy_cost(walk.start)  # its run may be the plan
        plan = question.bench.bounds.witness(walk.start)
        if plan is None:
            return Report()
        states = [walk.start]
        for operator in walk.operators:
            states.append(question.bench.task.apply(states[-1], operator))
        found = question.bench.undoer.undo(
            states, walk.operators, plan, self.expansions, self.seconds
        )
        if found.plan is not None:
            operators, cost = list(found.plan.operators), found.plan.cost
            question.bench.bounds.add_plan(question.state, operators, cost)
        return Report(found.expansions, limit=found.limit)


__all__ = ["Undo"]
