"""Pool, runs and verdicts joined into tested states."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from misstep.campaigns.records import (
    Names,
    PoolRecord,
    RunRecord,
    TestedState,
    Values,
    VerdictRecord,
)
from misstep.oracles.values import NOTHING, Interval
from misstep.tasks.task import State, Task


def tested_states(
    task: Task,
    pool: Sequence[PoolRecord],
    runs: Sequence[RunRecord],
    verdicts: Sequence[VerdictRecord],
) -> Iterator[TestedState]:
    """One for each verdict, in the order of the pool, which is that of the indices."""
    run_of: dict[Values, RunRecord] = {run.state: run for run in runs}
    verdict_of = {verdict.state: verdict for verdict in verdicts}
    for entry in pool:
        if entry.state not in verdict_of:
            continue
        run, verdict = run_of[entry.state], verdict_of[entry.state]
        yield TestedState(
            task=task.name,
            index=entry.index,
            state=entry.state,
            facts=tuple(task.facts(State(list(entry.state)))),
            walk=whole_walk(pool, entry),
            outcome=run.outcome,
            policy_cost=run.cost if run.outcome == "goal" else None,
            verdict=verdict.verdict,
            kind=verdict.kind,
            gap=(verdict.gap_low, verdict.gap_high),
            upper_bound=verdict.upper_bound,
            lower_bound=verdict.lower_bound,
            oracle=verdict.oracle,
            witness=verdict.witness,
            derivation=verdict.derivation,
            seconds=verdict.seconds,
            fuzzing_bug=_fuzzing_bug(task, pool, entry, verdict_of),
        )


def _fuzzing_bug(
    task: Task,
    pool: Sequence[PoolRecord],
    entry: PoolRecord,
    verdict_of: dict[Values, VerdictRecord],
) -> bool | None:
    if entry.reference is None:
        return None
    start = pool[entry.reference].state
    verdict = verdict_of.get(start)
    if verdict is not None:
        reference = _gap(verdict)
    elif task.is_goal(State(list(start))):
        reference = NOTHING
    else:
        return None
    return _gap(verdict_of[entry.state]).is_above(reference)


def _gap(verdict: VerdictRecord) -> Interval:
    low, high = (
        math.inf if bound is None else bound for bound in (verdict.gap_low, verdict.gap_high)
    )
    return Interval(low, high)


def whole_walk(pool: Sequence[PoolRecord], entry: PoolRecord) -> Names | None:
    """The walk from the initial state, through the reference states; None if it does not begin there.

    A walk from the reference state alone could not be followed by somebody who has only this record.
    """
    walks = []
    while entry.reference is not None:
        walks.append(entry.walk)
        entry = pool[entry.reference]
    if entry.index != 0:
        return None
    return tuple(name for walk in reversed(walks) for name in walk)


__all__ = ["tested_states", "whole_walk"]
