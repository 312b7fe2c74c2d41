"""Find a plan for a bug that is proven by a derivation, because a plan is easier to check.

A limited search looks for any plan that is cheaper than the policy's run. If it finds one, the plan proves the bug
without a dominance function. The derivation is kept if it proves a larger gap.
"""

from __future__ import annotations

from dataclasses import replace

from misstep.oracles.neighbourhood import Aras
from misstep.oracles.oracle import Question, Source
from misstep.oracles.searches import EnforcedHillClimbing, GreedyBestFirst
from misstep.oracles.verdict import Effort, Verdict
from misstep.oracles.workbench import Workbench


def with_plan(bench: Workbench, verdict: Verdict) -> Verdict:
    """The verdict with a plan that proves the bug, if a small search finds one; the source stays the same."""
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
