"""From a task to the tables of its dominance function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from misstep._core import (
    DominanceCore,
    DominanceFactoring,
    DominanceTables,
    dominance_simulation,
)
from misstep.errors import MemoryLimitError
from misstep.oracles.dominance.settings import DominanceSettings
from misstep.tasks.task import Task

# What is being done, steps of it done, seconds since the start.
Progress = Callable[[str, int, float], None]


@dataclass(frozen=True)
class Computed:
    core: DominanceCore
    solvable: bool
    merges: int
    seconds: float
    remarks: tuple[str, ...]


def compute_tables(task: Task, settings: DominanceSettings, progress: Progress | None) -> Computed:
    """The tables, or an error that says what to do about it."""
    try:
        return _tables(task, settings, progress)
    except MemoryError as error:
        raise MemoryLimitError(
            "out of memory while computing a dominance function",
            where=task.name,
            hint="merge less (--limit-transitions, --limit-states) or nothing (--atomic)",
        ) from error


def _tables(task: Task, settings: DominanceSettings, progress: Progress | None) -> Computed:
    """The atomic factors first; the merged ones get what time is left."""
    began = monotonic()
    deadline = None if settings.seconds is None else began + settings.seconds
    remarks: list[str] = []

    def left() -> float | None:
        return None if deadline is None else max(0.0, deadline - monotonic())

    def reporter(stage: str) -> Callable[..., None] | None:
        if progress is None:
            return None
        return lambda steps, *_: progress(stage, steps, monotonic() - began)

    tables: list[DominanceTables] = []
    merges = 0
    for kind in [k for k in ("atomic", "merged") if getattr(settings, k)]:
        merge = kind == "merged"
        factoring = DominanceFactoring(
            task,
            merge=merge,
            max_states=min(settings.limit_states, 2**31 - 1),
            max_transitions=settings.limit_transitions,
            reduce_labels=merge and settings.reduce_labels,
            shrink=merge and settings.shrink,
            prune_unreachable=settings.prune_unreachable,
            max_steps=settings.steps,
            seconds=left(),
            progress=reporter(f"{kind} factors"),
        )
        if not factoring.solvable:
            remarks.append("no plan from the initial state: nothing to compare")
            return Computed(DominanceCore(task, []), False, 0, monotonic() - began, tuple(remarks))
        merges = factoring.merges
        if factoring.limit != "none":
            reason = "time limit" if factoring.limit == "time" else "budget of steps"
            remarks.append(f"merging stopped after {merges} merges: the {reason}")
        if merge and tables and merges == 0 and not (settings.reduce_labels or settings.shrink):
            continue  # the atomic factors over again
        tables.append(
            dominance_simulation(
                factoring,
                strict=settings.strict,
                tau=True,
                recursive_tau=settings.recursive_tau,
                noop_tau=settings.noop_tau,
                truncate=settings.truncate_for(task),
                max_drops=settings.drops,
                max_steps=settings.steps,
                max_cells=settings.cells,
                threads=settings.threads,
                seconds=left(),
                progress=reporter(f"simulation, {kind} factors"),
            )
        )
        remarks += fallbacks(kind, [factor["fallback"] for factor in tables[-1].factors()])
    return Computed(DominanceCore(task, tables), True, merges, monotonic() - began, tuple(remarks))


_LIMITS = {"steps": "budget of steps", "cells": "limit on table entries", "time": "time limit"}


def fallbacks(kind: str, reasons: list[str]) -> list[str]:
    """One line for each limit that bit."""
    return [
        f"{reasons.count(reason)} of {len(reasons)} {kind} factors know internal moves only: the {limit}"
        for reason, limit in _LIMITS.items()
        if reason in reasons
    ]


__all__ = ["Computed", "Progress", "compute_tables"]
