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
    full. The runner is made only if the walks need a policy.

    If the policy has changed its mind since, the iteration finds other states. These are not what later walks may
    start from: the stored ones have their numbers. So it is not repeated then.
    """
    fuzzing = settings.of_planning.fuzzing
    if lost_bias(settings, runner) is not None:
        fuzzing = replace(fuzzing, bias="none")
    entries = _entries(task, known)

    def after(pool: Pool | None) -> Fuzzer:
        asked = runner() if fuzzing.needs_policy else None
        return make_fuzzer(
            task, asked, fuzzing, settings.seed, pool=pool, max_steps=settings.max_steps
        )

    if len(entries) < 2:
        return after(Pool(entries) if entries else None)
    last = entries[-1].iteration
    kept = [entry for entry in entries if entry.iteration < last]
    fuzzer = after(Pool(kept, iterations=last))
    fuzzer.step()
    if fuzzer.pool.entries[: len(entries)] != entries:
        return after(Pool(entries, iterations=last + 1))
    return fuzzer


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


def _entries(task: Task, known: Sequence[StateRow]) -> list[PoolEntry]:
    return [
        PoolEntry(
            state_of(task, row.state),
            row.reference or 0,
            row.walk,
            row.iteration if row.number else -1,
        )
        for row in known
    ]


__all__ = ["fresh_states", "going_on", "lost_bias"]
