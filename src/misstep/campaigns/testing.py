"""Testing a chunk of a pool: runs, verdicts, and the check of every witness, as records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.records import RunRecord, VerdictRecord
from misstep.errors import MisstepError
from misstep.fuzzing.pool import PoolEntry
from misstep.oracles.concrete import with_plan
from misstep.oracles.grammar import parse_oracle
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.oracle import Walk
from misstep.oracles.verdict import Objective, Verdict
from misstep.oracles.witness import derivation_steps
from misstep.oracles.workbench import Workbench
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State


class Tested(NamedTuple):
    """A tested state, ready for the store; and what could not be done for it."""

    run: RunRecord
    verdict: VerdictRecord
    remarks: tuple[str, ...]


class Job(NamedTuple):
    """A pool state and how it was found."""

    state: State
    start: State
    walk: tuple[int, ...]

    @staticmethod
    def of(entries: Sequence[PoolEntry], entry: PoolEntry) -> Job:
        return Job(entry.state, entries[entry.reference].state, entry.walk)


def judge_chunk(
    runner: PolicyRunner,
    settings: CampaignSettings,
    jobs: Sequence[Job],
    dominance: Dominance | str | None = None,
) -> list[Tested]:
    """Test the states, in their order, on a bound store of their own."""
    try:
        return _judged(runner, settings, jobs, dominance)
    except MisstepError as error:
        error.where = error.where or runner.task.name
        raise


def _judged(
    runner: PolicyRunner,
    settings: CampaignSettings,
    jobs: Sequence[Job],
    dominance: Dominance | str | None,
) -> list[Tested]:
    bench = Workbench(
        runner,
        objective=Objective(settings.objective),
        max_steps=settings.max_steps,
        dominance=dominance,
    )
    oracle = parse_oracle(settings.oracle, bench)
    bench.verdicts_of(job.state for job in jobs)  # all runs together: the policy sees batches
    verdicts = [oracle.test(job.state, walk=Walk(job.start, job.walk)) for job in jobs]
    if bench.pool is not None:
        bench.pool.settle()
    results = []
    for verdict in verdicts:
        final = with_plan(bench, _improved(bench, verdict))
        bench.check(final)
        results.append(_records(bench, bench.trace(verdict.state), final))
    return results


def _improved(bench: Workbench, verdict: Verdict) -> Verdict:
    """The verdict as of the end of the chunk: what was found for later states may have told more about it."""
    now = bench.verdict_of(verdict.state)
    if (now.status, now.gap) == (verdict.status, verdict.gap):
        return verdict
    return replace(
        now,
        oracle=verdict.oracle if verdict.is_decided else None,
        effort=verdict.effort,
        limits=verdict.limits,
        problems=verdict.problems,
    )


def _records(bench: Workbench, trace: Trace, verdict: Verdict) -> Tested:
    task, state = bench.task, verdict.state.values
    names = task.operator_names
    run = RunRecord(
        task=task.name,
        state=state,
        outcome=trace.outcome,
        steps=len(trace.operators),
        cost=trace.cost,
        operators=tuple(names[op] for op in trace.operators),
        message=trace.message,
    )
    record = VerdictRecord(
        task=task.name,
        state=state,
        verdict=verdict.status.value.upper(),
        kind=None if verdict.kind is None else verdict.kind.value,
        gap_low=_finite(verdict.gap.low),
        gap_high=_finite(verdict.gap.high),
        upper_bound=_finite(verdict.upper_bound),
        lower_bound=_finite(verdict.lower_bound),
        oracle=verdict.oracle,
        witness=None if verdict.witness is None else tuple(names[op] for op in verdict.witness),
        seconds=verdict.effort.seconds,
        expansions=verdict.effort.expansions,
        evaluations=verdict.effort.evaluations,
        derivation=_derivation(bench, verdict),
    )
    limits = (f"a search stopped at a limit: {limit}" for limit in verdict.limits)
    return Tested(run, record, (*limits, *verdict.problems))


def _derivation(bench: Workbench, verdict: Verdict) -> tuple[dict[str, Any], ...] | None:
    """With the values of the factors that each jump rests on."""
    if verdict.derivation is None or isinstance(bench.dominance, str):
        return None
    steps = derivation_steps(bench.task, verdict.derivation)
    state = verdict.state
    for step, record in zip(verdict.derivation.steps, steps, strict=True):
        if step.operator is None:
            parts = bench.dominance.by_factor(dominated=step.state, dominating=state)
            record["factors"] = [{"variables": list(p.variables), "value": p.value} for p in parts]
        state = step.state
    return tuple(steps)


def _finite(cost: int | float) -> int | None:
    return None if math.isinf(cost) else int(cost)


__all__ = ["Job", "Tested", "judge_chunk"]
