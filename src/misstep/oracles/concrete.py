"""From a derivation to a plan: a bug that dominance has proven is easier to believe with a cheaper plan at hand.

A search of limited size looks for any plan that is cheaper than what the policy spends. If it finds one, the verdict
rests on the plan, at the plan's cost, and needs no dominance function to be checked.
"""

from __future__ import annotations

from dataclasses import replace

from misstep.oracles.neighbourhood import Aras
from misstep.oracles.oracle import Question, Source
from misstep.oracles.searches import EnforcedHillClimbing, GreedyBestFirst
from misstep.oracles.verdict import Effort, Verdict
from misstep.oracles.workbench import Workbench


def with_plan(bench: Workbench, verdict: Verdict) -> Verdict:
    """The verdict with a plan instead of a derivation, where a small search finds one; the finder stays the same."""
    if verdict.derivation is None:
        return verdict
    question = Question(bench, verdict.state, None, verdict.policy_cost)
    effort = verdict.effort
    for source in _searches(verdict):
        # Not `answer`: by the derivation, the question is decided.
        report = source.search(question)
        effort += Effort(0.0, report.expansions, report.evaluations)
        found = bench.verdict_of(verdict.state)
        if found.is_bug and found.derivation is None:
            return replace(
                found,
                oracle=verdict.oracle,
                effort=effort,
                limits=verdict.limits,
                problems=verdict.problems,
            )
    return replace(verdict, effort=effort)


def _searches(verdict: Verdict) -> list[Source]:
    """Around the policy's run where it reaches the goal, elsewhere from nothing."""
    if verdict.policy_cost.reaches_goal:
        return [Aras(20_000)]
    return [EnforcedHillClimbing(evaluations=2_000), GreedyBestFirst(500)]


__all__ = ["with_plan"]
