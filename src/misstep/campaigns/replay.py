"""Checking a campaign again, from its files alone: every run, every plan, every sum; and by asking the policy again."""

from __future__ import annotations

import math
from collections.abc import Iterator

from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.policy import policy_of
from misstep.campaigns.records import RunRecord, VerdictRecord
from misstep.campaigns.store import CampaignStore
from misstep.checking import (
    DominanceTables,
    SasTask,
    parse_sas,
    validate_derivation,
    validate_plan,
)
from misstep.checking.plan import after, normalise, operators_by_name
from misstep.errors import InputFileError, InputFormatError
from misstep.oracles.values import cost_gap, cost_of_run, goal_gap
from misstep.oracles.verdict import Objective
from misstep.runs.runner import Trace
from misstep.tasks.task import State, Task


def replay(store: CampaignStore) -> Iterator[tuple[str, int, str | None]]:
    """For each tested state: task, index, and why its record does not hold (None: it does)."""
    objective = Objective(CampaignSettings.from_dict(store.config, str(store.path)).objective)
    for name in store.task_names():
        twin = parse_sas(store.task(name).sas.decode(), name)
        runs = {run.state: run for run in store.runs(name)}
        verdicts = {verdict.state: verdict for verdict in store.verdicts(name)}
        tables = _tables(store, name) if any(v.derivation for v in verdicts.values()) else None
        for entry in store.pool(name):
            if entry.state in verdicts:
                run, verdict = runs[entry.state], verdicts[entry.state]
                problem = _problem(twin, run, verdict, tables, objective)
                yield name, entry.index, problem


def rerun(store: CampaignStore) -> Iterator[tuple[str, int, str | None]]:
    """Run the policy again from each tested state and compare with the record; the same triples."""
    max_steps = CampaignSettings.from_dict(store.config, str(store.path)).max_steps
    for name in store.task_names():
        task = store.task(name)
        runner, problem = policy_of(store, task)
        if runner is None:
            raise InputFileError(str(problem), where=str(store.folder))
        try:
            runs = {run.state: run for run in store.runs(name)}
            for entry in store.pool(name):
                if entry.state in runs:
                    trace = runner.trace(State(list(entry.state)), max_steps)
                    yield name, entry.index, _difference(task, trace, runs[entry.state])
        finally:
            runner.policy.close()


def _difference(task: Task, trace: Trace, run: RunRecord) -> str | None:
    if trace.outcome != run.outcome:
        return f"the policy's run now ends with {trace.outcome}, not {run.outcome}"
    names = [task.operator_name(op) for op in trace.operators]
    for step, (now, then) in enumerate(zip(names, run.operators, strict=False)):
        if now != then:
            return f"the policy now does ({now}) at step {step}, not ({then})"
    if (len(names), trace.cost) != (run.steps, run.cost):
        return f"the policy's run now has {len(names)} steps, not {run.steps}"
    return None


def _tables(store: CampaignStore, name: str) -> DominanceTables | None:
    saved, _ = store.dominance(name) or (None, None)
    if saved is None:
        return None
    try:
        return DominanceTables(saved)
    except ValueError as error:
        raise InputFormatError(str(error), where=str(store.path)) from error


def _problem(
    twin: SasTask,
    run: RunRecord,
    verdict: VerdictRecord,
    tables: DominanceTables | None,
    objective: Objective,
) -> str | None:
    if run.steps != len(run.operators):
        return f"the policy's run has {len(run.operators)} steps, not {run.steps}"
    claim = run.cost if run.outcome == "goal" else None
    if claim is not None:
        report = validate_plan(twin, run.operators, state=run.state, claimed_cost=claim)
        if not report.valid:
            return f"the policy's run: {report.reason}"
    elif (text := _failing_run(twin, run)) is not None:
        return f"the policy's run: {text}"
    if verdict.witness is not None:
        report = validate_plan(
            twin,
            verdict.witness,
            state=run.state,
            # Beside a derivation the plan may cost more than the bound.
            claimed_cost=None if verdict.derivation is not None else verdict.upper_bound,
        )
        if not report.valid:
            return f"the witness: {report.reason}"
    if verdict.derivation is not None:
        if tables is None or verdict.upper_bound is None:
            return "a derivation without a dominance function or a bound"
        derived = validate_derivation(
            twin,
            verdict.derivation,
            state=run.state,
            claimed_bound=verdict.upper_bound,
            tables=tables,
        )
        if not derived.valid:
            return f"the derivation: {derived.reason}"
    if verdict.verdict == "BUG" and verdict.witness is None and verdict.derivation is None:
        return "a bug without a witness"
    return _wrong_sum(run, verdict, objective)


def _wrong_sum(run: RunRecord, verdict: VerdictRecord, objective: Objective) -> str | None:
    """Whether verdict, kind and gap follow from the run and the bounds."""
    policy = cost_of_run(run.outcome, run.cost)
    lower, upper = (
        math.inf if bound is None else bound for bound in (verdict.lower_bound, verdict.upper_bound)
    )
    gap = (cost_gap if objective is Objective.COST else goal_gap)(policy, lower, upper)
    claimed = tuple(
        math.inf if bound is None else bound for bound in (verdict.gap_low, verdict.gap_high)
    )
    if claimed != (gap.low, gap.high):
        return f"the gap is {gap}, not {claimed[0]} to {claimed[1]}"
    expected = "BUG" if gap.low > 0 else "OPTIMAL" if gap.high == 0 else "UNKNOWN"
    if verdict.verdict != expected:
        return f"the verdict is {expected}, not {verdict.verdict}"
    kind = {True: "fails", False: "costly", None: "unclassified"}[policy.fails]
    if verdict.verdict == "BUG" and verdict.kind != kind:
        return f"the kind of the bug is {kind}, not {verdict.kind}"
    return None


def _failing_run(twin: SasTask, run: RunRecord) -> str | None:
    """Follow a run that did not reach the goal. Where names leave a choice, some choice has to be as recorded."""
    candidates = operators_by_name(twin, run.operators)
    steps = [candidates[normalise(name)] for name in run.operators]
    layers = [[(run.state, 0)]]  # what can be reached by each step, with what it costs
    for number, operators in enumerate(steps, 1):
        layers.append(after(layers[-1], operators))
        if not layers[-1]:
            return f"step {number} ({run.operators[number - 1]}) does not apply"
    ends = {state for state, cost in layers[-1] if cost == run.cost}
    if not ends:
        return f"it costs {layers[-1][0][1]}, not {run.cost}"
    if run.outcome != "loop":
        return None
    for number, layer in enumerate(layers[:-1]):
        for here in layer:
            if here[0] in ends:
                reached = [here]
                for operators in steps[number:]:
                    reached = after(reached, operators)
                if (here[0], run.cost) in reached:
                    return None
    return "it does not come back to a state"


__all__ = ["replay", "rerun"]
