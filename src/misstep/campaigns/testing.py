"""Testing a chunk of a pool: runs, verdicts, and the check of every witness, as records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.records import RunRecord, VerdictRecord
from misstep.fuzzing.pool import PoolEntry
from misstep.oracles.grammar import parse_oracle
from misstep.oracles.oracle import Walk
from misstep.oracles.verdict import Objective, Verdict
from misstep.oracles.workbench import Workbench
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State, Task


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
    runner: PolicyRunner, settings: CampaignSettings, jobs: Sequence[Job]
) -> list[Tested]:
    """Test the states, in their order, on a bound store of their own."""
    bench = Workbench(runner, objective=Objective(settings.objective), max_steps=settings.max_steps)
    oracle = parse_oracle(settings.oracle, bench)
    bench.verdicts_of(job.state for job in jobs)  # all runs together: the policy sees batches
    results = []
    for job in jobs:
        verdict = oracle.test(job.state, walk=Walk(job.start, job.walk))
        bench.check(verdict)
        results.append(_records(runner.task, bench.trace(job.state), verdict))
    return results


def _records(task: Task, trace: Trace, verdict: Verdict) -> Tested:
    state = verdict.state.values
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
    )
    return Tested(run, record, (*verdict.limits, *verdict.problems))


def _finite(cost: int | float) -> int | None:
    return None if math.isinf(cost) else int(cost)


__all__ = ["Job", "Tested", "judge_chunk"]
