"""Where the faults of a model's unsafe runs lie: on how many runs, how many per run, and how far before the end.

The safety paper reports a fault on 86 % of its unsafe runs, and a single one on almost all of those. On a run without a
fault, all states are lost, or a budget has left some undecided; the latter runs are counted separately. Equal runs of
the fuzzer count once, and a decision counts once for each time that the run takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from misstep.campaigns.rows import FaultRow, RunRow, Values

TENTHS = 10


@dataclass(frozen=True)
class Blame:
    """Faults on distinct unsafe runs that have been judged."""

    runs: int
    with_fault: int
    left_open: int  # without a fault that is known, where a budget has left a state open
    share: float | None  # of the runs with a fault among all
    faults_a_run: float | None  # over all runs
    most: int  # faults of one run
    # Faults by the tenth of the run in which they lie, the last tenth ending in the unsafe state.
    by_tenth: tuple[int, ...]
    steps_before_end: (
        float | None
    )  # median over all faults; 1: the decision leads into the unsafe state


def blame(
    runs: Iterable[RunRow], faults: Iterable[FaultRow], verdicts: Mapping[Values, str]
) -> Blame:
    """The faults of one task; `verdicts` are the verdicts on its states."""
    lengths: dict[int, int] = {}
    is_open: dict[int, bool] = {}
    for run in runs:
        states = run.states or ()
        if run.outcome == "unsafe" and run.operators and states[0] in verdicts:
            lengths[run.number] = len(run.operators)
            is_open[run.number] = any(verdicts.get(own) == "UNKNOWN" for own in states[:-1])
    places = {(own.run, own.step) for own in faults if own.run in lengths}
    return _counted(lengths, sorted(places), is_open)


def _counted(
    lengths: Mapping[int, int], places: Sequence[tuple[int, int]], is_open: Mapping[int, bool]
) -> Blame:
    counts = dict.fromkeys(lengths, 0)
    tenths = [0] * TENTHS
    for run, step in places:
        counts[run] += 1
        tenths[TENTHS * step // lengths[run]] += 1
    with_fault = sum(count > 0 for count in counts.values())
    total = len(counts)
    return Blame(
        runs=total,
        with_fault=with_fault,
        left_open=sum(is_open[run] and not count for run, count in counts.items()),
        share=with_fault / total if total else None,
        faults_a_run=len(places) / total if total else None,
        most=max(counts.values(), default=0),
        by_tenth=tuple(tenths),
        steps_before_end=median(lengths[run] - step for run, step in places) if places else None,
    )


def together(parts: Sequence[Blame]) -> Blame | None:
    """Combine several tasks; the median is taken over the medians of the tasks, weighted by their faults."""
    if not parts:
        return None
    runs = sum(own.runs for own in parts)
    with_fault = sum(own.with_fault for own in parts)
    faults = [sum(own.by_tenth) for own in parts]
    medians = [
        own.steps_before_end
        for own, count in zip(parts, faults, strict=True)
        for _ in range(count)
        if own.steps_before_end is not None
    ]
    return Blame(
        runs=runs,
        with_fault=with_fault,
        left_open=sum(own.left_open for own in parts),
        share=with_fault / runs if runs else None,
        faults_a_run=sum(faults) / runs if runs else None,
        most=max(own.most for own in parts),
        by_tenth=tuple(map(sum, zip(*(own.by_tenth for own in parts), strict=True))),
        steps_before_end=median(medians) if medians else None,
    )


def text_of(own: Blame) -> str:
    """For people."""
    text = f"{own.with_fault} of {own.runs} unsafe runs have one"
    if own.faults_a_run is not None and own.with_fault:
        text += f", {own.faults_a_run:.3g} a run, {own.most} at most"
    if own.steps_before_end is not None:
        steps = "step" if own.steps_before_end == 1 else "steps"
        text += f"; the median one is {own.steps_before_end:g} {steps} before the end"
    return text


__all__ = ["Blame", "blame", "text_of", "together"]
