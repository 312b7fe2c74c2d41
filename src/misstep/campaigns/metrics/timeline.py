"""Bugs over time: a step function.

Each task has its own clock, which counts the seconds of work on it, so that interruptions and the number of worker
processes do not matter. Curves of several tasks are added: at time t, the curve counts the bugs of all tasks by then.
"""

from __future__ import annotations

from collections.abc import Iterable

from misstep.campaigns.records import Record

Step = tuple[float, int]


def bugs_over_time(records: Iterable[Record]) -> list[Step]:
    """Points (time, number of bugs so far), one for each time at which the number grows."""
    return growth(known_at(record) for record in records if record.is_bug)


def known_at(record: Record) -> float:
    """When the first oracle proved the bug. The record may show a later verdict that proves more."""
    return min((own.at for own in record.verdicts if own.is_bug), default=record.at)


def growth(times: Iterable[float]) -> list[Step]:
    """The step function for these times at which bugs were found."""
    steps: dict[float, int] = {}
    for count, time in enumerate(sorted(times), 1):
        steps[time] = count
    return list(steps.items())
