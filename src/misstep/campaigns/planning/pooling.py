"""Continue the fuzzer of a campaign after the stored states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from misstep.campaigns.planning.payloads import Pooled, PoolPayload
from misstep.campaigns.planning.rows import state_row
from misstep.campaigns.rows import StateRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.states import state_of
from misstep.fuzzing.fuzz import make_fuzzer
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.pool import Pool, PoolEntry
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task


def going_on(
    task: Task,
    runner: Callable[[], PolicyRunner],
    settings: Settings,
    known: Sequence[StateRow],
) -> Fuzzer:
    """The fuzzer after these states. It repeats the last iteration, which may have been cut short when the pool was
    full. The runner is made only if the walks need a policy."""
    fuzzing = settings.of_planning.fuzzing
    if lost_bias(settings, runner) is not None:
        fuzzing = replace(fuzzing, bias="none")
    return make_fuzzer(
        task,
        runner() if fuzzing.needs_policy else None,
        fuzzing,
        settings.seed,
        pool=_pool(task, known),
        max_steps=settings.max_steps,
    )


def fresh_states(fuzzer: Fuzzer, payload: PoolPayload, limit: float | None) -> Pooled:
    """Find the wanted number of states, or as many as there are; `limit` is the time limit of fuzzing in seconds."""
    stored = len(payload.known)
    began = last = perf_counter()
    fresh: list[StateRow] = []
    finished = False
    while len(fresh) < payload.wanted and not finished:
        finished = not fuzzer.step()
        now = perf_counter()
        entries = fuzzer.pool.entries[stored + len(fresh) :]
        for place, entry in enumerate(entries, stored + len(fresh)):
            fresh.append(state_row(place, entry, (now - last) / len(entries)))
        if entries:
            last = now
        if limit is not None and payload.spent + now - began > limit and not finished:
            fuzzer.pool.remark(f"the time limit of {limit:g} seconds ended the fuzzing")
            finished = True
    return Pooled(tuple(fresh), finished, False)


def lost_bias(settings: Settings, runner: Callable[[], PolicyRunner]) -> str | None:
    """The reason why the bias in the settings cannot be used, or None."""
    own = settings.of_planning.fuzzing
    # The biases of the later fuzzer look at single decisions along runs, which these policies do not have.
    if not own.needs_policy or own.algorithm != "2024" or not runner().by_start:
        return None
    return (
        f"the bias {own.bias} is not used: the runs of this policy depend on their start, so it has no decisions in "
        "single states"
    )


def _pool(task: Task, known: Sequence[StateRow]) -> Pool | None:
    if not known:
        return None
    last = known[-1].iteration
    kept = [row for row in known if row.number == 0 or row.iteration < last]
    entries = [
        PoolEntry(
            state_of(task, row.state),
            row.reference or 0,
            row.walk,
            row.iteration if row.number else -1,
        )
        for row in kept
    ]
    return Pool(entries, iterations=last if len(known) > 1 else 0)


__all__ = ["fresh_states", "going_on", "lost_bias"]
