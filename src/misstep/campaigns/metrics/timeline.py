"""Bugs over time: a step function.

Each task has its own clock, made of the seconds that its records took, so that interruptions and the number of
worker processes do not matter. Curves of several tasks are added up: at time t, the bugs that all of them had by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from misstep.campaigns.records import PoolRecord, TestedState

Step = tuple[float, int]


def bugs_over_time(
    tested: Iterable[TestedState], pool: Iterable[PoolRecord] | None = None
) -> list[Step]:
    """Points (time, number of distinct bugs so far), one for each time at which the number grows.

    Only the time for testing counts, as in P23; with `pool` also that for making each pool state, as in P22, where
    a state is tested as soon as it is made.
    """
    making = {(entry.task, entry.index): entry.seconds for entry in pool or ()}
    times = []
    ordered = sorted(tested, key=lambda state: (state.task, state.index))
    for task, states in groupby(ordered, key=lambda state: state.task):
        clock, made = 0.0, 0
        for state in states:
            while made <= state.index:
                clock += making.get((task, made), 0.0)
                made += 1
            clock += state.seconds
            if state.is_bug:
                times.append(clock)
    steps: dict[float, int] = {}
    for count, time in enumerate(sorted(times), 1):
        steps[time] = count
    return list(steps.items())
