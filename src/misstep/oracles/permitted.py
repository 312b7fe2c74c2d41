"""The sets of permitted operators that a verdict on a set-valued policy rests on, besides a run and a plan.

A failing permitted run proves that some permitted run fails. To prove that all fail, or the cost of the cheapest or
most expensive one, the permitted operators of all relevant states are needed. These sets are stored with the verdict,
after the independent checker has drawn the same conclusions from them.
"""

from __future__ import annotations

import math

from misstep.checking.gaps import Claim, concluded
from misstep.checking.permitted import PermittedSets
from misstep.errors import MisstepError
from misstep.oracles.values import Cost
from misstep.oracles.verdict import Kind, Status, Verdict
from misstep.runs.permitted import PermittedRuns, PermittedSet, WorstCase
from misstep.runs.runner import Trace


def rests_on_graph(verdict: Verdict) -> bool:
    """Whether a verdict says more than the run of the chooser shows."""
    if verdict.status is Status.BUG:
        return verdict.kind not in (Kind.FAILS_SOME, Kind.CRASH)
    return verdict.status is Status.OPTIMAL and not math.isinf(verdict.lower_bound)


def sets_behind(policy: WorstCase, run: Trace, verdict: Verdict) -> list[PermittedSet]:
    """The permitted operators of all states that a verdict rests on: those of the run, and of the graph if needed."""
    found = {own.state: own for own in policy.sets(run.states)}
    if rests_on_graph(verdict):
        found |= {own.state: own for own in policy.certificate(verdict.state)}
    return list(found.values())


def check_sets(
    sets: PermittedSets,
    rows: list[PermittedSet],
    run: Trace,
    named: int | None,
    runs: PermittedRuns,
    verdict: Verdict,
    *,
    costly_some: bool,
) -> None:
    """Let the checker derive the verdict from the permitted operators; raises an error if it differs."""
    for row in rows:
        sets.add(tuple(row.state.values), row.operators)
    claim = Claim(runs.closed, _cost(runs.least), _cost(runs.most), costly_some)
    states = [tuple(state.values) for state in run.states]
    problem = sets.run_problem(states, run.operators, run.outcome, named)
    problem = problem or claim.run_problem(run.outcome, run.cost)
    start = states[0]
    if problem is None and verdict.kind is Kind.FAILS_ALL:
        problem = sets.no_goal_problem(start)
    elif problem is None and rests_on_graph(verdict):
        problem = sets.claim_problem(start, claim)
    lower, upper = verdict.lower_bound, verdict.upper_bound
    expected = concluded(run.outcome, run.cost, lower, upper, verdict.objective.value, claim)
    told = (
        verdict.gap.low,
        verdict.gap.high,
        verdict.status.value.upper(),
        None if verdict.kind is None else verdict.kind.value,
    )
    if problem is None and told != tuple(expected):
        problem = f"the verdict is {tuple(expected)}, not {told}"
    if problem is not None:
        raise MisstepError(
            f"internal error: the permitted runs are not as claimed: {problem}; run: {run}; verdict: {verdict}"
        )


def _cost(value: int | None) -> Cost:
    return math.inf if value is None else value


__all__ = ["check_sets", "rests_on_graph", "sets_behind"]
