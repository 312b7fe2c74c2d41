"""From a derivation to a plan: a bug that dominance has proven is easier to believe with a cheaper plan at hand.

A search of limited size looks for any plan that is cheaper than what the policy spends. If it finds one, the verdict
rests on the plan, at the plan's cost, and needs no dominance function to be checked.
"""

from __future__ import annotations

from dataclasses import replace

from misstep.oracles.grammar import parse_oracle
from misstep.oracles.verdict import Verdict
from misstep.oracles.workbench import Workbench

SEARCH = "aras(20_000)/(ehc(evaluations=2_000), gbfs(500))"


def with_plan(bench: Workbench, verdict: Verdict) -> Verdict:
    """The verdict with a plan instead of a derivation, where a small search finds one; the finder stays the same."""
    if verdict.derivation is None:
        return verdict
    found = parse_oracle(SEARCH, bench).test(verdict.state)
    if found.derivation is not None:
        return verdict
    return replace(
        found,
        oracle=verdict.oracle,
        effort=verdict.effort + found.effort,
        limits=verdict.limits,
        problems=verdict.problems,
    )


__all__ = ["with_plan"]
