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
    steps: dict[float, int] = {}
    for count, time in enumerate(sorted(record.at for record in records if record.is_bug), 1):
        steps[time] = count
    return list(steps.items())
