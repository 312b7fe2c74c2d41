"""From a derivation to a plan: a bug that dominance has proven is easier to believe with a cheaper plan at hand.

A search of limited size looks for any plan that is cheaper than what the policy spends. If it finds one, the plan
proves the bug, and needs no dominance function to be checked. The derivation stays where it proves a larger gap.
"""

from __future__ import annotations

from dataclasses import replace

from misstep.oracles.neighbourhood import Aras
from misstep.oracles.oracle import Question, Source
from misstep.oracles.searches import EnforcedHillClimbing, GreedyBestFirst
from misstep.oracles.verdict import Effort, Verdict
from misstep.oracles.workbench import Workbench


def with_plan(bench: Workbench, verdict: Verdict) -> Verdict:
    """The verdict on a bug with a plan that proves it, where a small search finds one; the finder stays the same."""
    if not verdict.is_bug or verdict.plan_proves_bug:
        return verdict
    question = Question(bench, verdict.state, None, verdict.policy_cost)
    effort = verdict.effort
    for source in _searches(verdict):
        # Not `answer`: by the derivation, the question is decided.
        report = source.search(question)
        effort += Effort(0.0, report.expansions, report.evaluations)
        if bench.verdict_of(verdict.state).plan_proves_bug:
            break
    return replace(
        bench.verdict_of(verdict.state),
        oracle=verdict.oracle,
        effort=effort,
        limits=verdict.limits,
        problems=verdict.problems,
    )


def _searches(verdict: Verdict) -> list[Source]:
    """Around the policy's run where it reaches the goal, elsewhere from nothing."""
    if verdict.policy_cost.reaches_goal:
        return [Aras(20_000)]
    return [EnforcedHillClimbing(evaluations=2_000), GreedyBestFirst(500)]


__all__ = ["with_plan"]
