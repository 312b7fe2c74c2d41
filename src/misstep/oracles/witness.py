"""Replay every bug with the independent checker before it is reported.

Three things are checked again from the text of the task. The policy's run: its decisions lead where the policy graph
says, with the same outcome. The plan, and the derivation if it proves more: they are valid and have the claimed cost.
The arithmetic: the run and the better of the two prove a bug of that kind with at least that gap. If anything differs,
Misstep itself has a bug, and nothing is reported.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from misstep.checking import (
    SasTask,
    parse_sas,
    validate_derivation,
    validate_plan,
    validate_run,
)
from misstep.checking.dominance import Values
from misstep.errors import MisstepError
from misstep.oracles.derivation import Derivation
from misstep.oracles.values import Cost
from misstep.oracles.verdict import Kind, Objective, Status, Verdict
from misstep.runs.outcomes import PROVEN_FAILING
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import Task


def check_witness(
    task: Task,
    run: Trace,
    verdict: Verdict,
    named: int | None = None,
    tables: Values | None = None,
    *,
    revisits: bool = False,
    of_set: bool = False,
) -> None:
    """Replay what a verdict rests on; raises an error if anything is not as claimed.

    `run` is the policy's run from the state, `named` the operator that it chose where that did not apply, `tables` the
    dominance function that a derivation rests on. Of verdicts other than bugs, the run and the upper bound are
    checked: lower bounds have no witness to be replayed. `revisits`: the run may come back to a state. `of_set`: it is
    one of many that a set-valued policy permits, and what follows from that is checked elsewhere (`oracles.permitted`).
    """
    twin = twin_of(task)
    spent = _check_run(twin, run, verdict, named, revisits)
    bound = _check_plan(twin, run, verdict)
    if verdict.derivation is not None:
        derived = _check_derivation(twin, task, run, verdict, tables)
        _require(derived < bound, "the derivation proves no more than the plan", run, verdict)
        bound = derived
    _require(bound == verdict.upper_bound, "the upper bound is not what is proven", run, verdict)
    if not of_set:
        _check_arithmetic(run, verdict, spent, bound)


def twin_of(task: Task) -> SasTask:
    """The task as the checker reads it."""
    return _twin(task.sas, task.name)


def derivation_steps(task: Task, derivation: Derivation) -> list[dict[str, Any]]:
    """As plain data, for records and the checker: operators by id and name, jumps with the state and the value."""
    return [
        {"state": list(step.state.values), "value": step.value}
        if step.operator is None
        else {"operator": step.operator, "name": task.operator_name(step.operator)}
        for step in derivation.steps
    ]


def named_operator(runner: PolicyRunner, run: Trace) -> int | None:
    """The operator that the policy chose at the end of a run where it did not apply."""
    return runner.named(run)


def _check_run(
    twin: SasTask, run: Trace, verdict: Verdict, named: int | None, revisits: bool
) -> tuple[int, bool, bool]:
    """What the run spent, whether it reached the goal, and whether it failed for good."""
    report = validate_run(
        twin,
        [state.values for state in run.states],
        run.operators,
        run.outcome,
        named,
        claimed_cost=run.cost,
        revisits=revisits,
    )
    _require(report.valid, f"the run is not as claimed: {report.reason}", run, verdict, report)
    _require(run.states[0] == verdict.state, "the run begins elsewhere", run, verdict, report)
    return report.cost, run.outcome == "goal", run.outcome in PROVEN_FAILING


def _check_plan(twin: SasTask, run: Trace, verdict: Verdict) -> Cost:
    if verdict.witness is None:
        _require(math.isinf(verdict.witness_cost), "the cost of a plan without it", run, verdict)
        return math.inf
    report = validate_plan(
        twin,
        verdict.witness,
        state=verdict.state.values,
        claimed_cost=None if math.isinf(verdict.witness_cost) else int(verdict.witness_cost),
    )
    _require(report.valid, f"the plan is not as claimed: {report.reason}", run, verdict, report)
    _require(report.cost == verdict.witness_cost, "the plan costs something else", run, verdict)
    return report.cost


def _check_derivation(
    twin: SasTask, task: Task, run: Trace, verdict: Verdict, tables: Values | None
) -> Cost:
    assert verdict.derivation is not None
    _require(tables is not None, "a derivation without a dominance function", run, verdict)
    assert tables is not None
    report = validate_derivation(
        twin,
        derivation_steps(task, verdict.derivation),
        state=verdict.state.values,
        claimed_bound=int(verdict.upper_bound),
        tables=tables,
    )
    _require(report.valid, f"the derivation does not hold: {report.reason}", run, verdict, report)
    return report.bound


def _check_arithmetic(
    run: Trace, verdict: Verdict, spent: tuple[int, bool, bool], bound: Cost
) -> None:
    cost, reached, failed = spent
    least = math.inf if failed else 0 if run.outcome == "timeout" else cost
    _require(verdict.policy_cost.lower_bound == least, "the policy's cost differs", run, verdict)
    _require(
        verdict.policy_cost.is_exact == (reached or failed), "the outcome differs", run, verdict
    )
    _require(verdict.lower_bound <= bound, "a plan below the lower bound", run, verdict)
    if verdict.status is not Status.BUG:
        return
    _require(bound < least, "the plan is not better than the policy", run, verdict)
    kind = Kind.COSTLY if reached else Kind.FAILS if failed else Kind.UNCLASSIFIED
    if run.outcome == "error":
        kind = Kind.CRASH
    _require(verdict.kind is kind, f"the kind of the bug is {kind.value}", run, verdict)
    loss: Cost = least - bound
    if verdict.objective is Objective.GOAL:
        _require(failed, "the policy is not known to fail", run, verdict)
        loss = 1
    _require(verdict.gap.low == loss, f"the policy loses {loss} at least", run, verdict)


def _require(fact: bool, what: str, run: Trace, verdict: Verdict, report: Any = None) -> None:
    if not fact:
        checker = "" if report is None else f"; checker: {report}"
        raise MisstepError(f"internal error: {what}; run: {run}; verdict: {verdict}{checker}")


@lru_cache(
    maxsize=8
)  # reading the task again for each witness would take longer than finding it did
def _twin(sas: bytes, name: str) -> SasTask:
    return parse_sas(sas.decode(), name)


__all__ = ["check_witness", "derivation_steps", "named_operator", "twin_of"]
