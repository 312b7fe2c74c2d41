"""Bugs over time: a step function.

Each task has its own clock, which counts the seconds of work on it, so that interruptions and the number of worker
processes do not matter. Curves of several tasks are added up: at time t, the bugs that all of them had by then.
"""

from __future__ import annotations

from collections.abc import Iterable

from misstep.campaigns.records import Record

Step = tuple[float, int]


def bugs_over_time(records: Iterable[Record]) -> list[Step]:
    """Points (time, number of bugs so far), one for each time at which the number grows."""
    return growth(known_at(record) for record in records if record.is_bug)


def known_at(record: Record) -> float:
    """When the first oracle convicted a bug. The record's own verdict may be a later one that proves more."""
    return min((own.at for own in record.verdicts if own.is_bug), default=record.at)


def growth(times: Iterable[float]) -> list[Step]:
    """The same of the times at which bugs were found."""
    steps: dict[float, int] = {}
    for count, time in enumerate(sorted(times), 1):
        steps[time] = count
    return list(steps.items())
