"""Estimates of the remaining time, given only where they are reliable.

A wrong estimate is worse than none. There is an estimate only after a while, only if the recent speed is about the same
as before, and for several tasks only if the finished ones took about equally long.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SECONDS = 4.0
LEAST_SHARE = 0.05
STEADY = 1.7  # largest ratio between the speeds of the first and the second half of the work
ALIKE = 3.0  # largest ratio between the times of two tasks


class Pace:
    """The progress of one phase over time."""

    def __init__(self, done: int, now: float) -> None:
        self._seen = [(now, done)]

    def see(self, done: int, now: float) -> None:
        if done == self._seen[-1][1]:
            return
        self._seen.append((now, done))
        if len(self._seen) > 400:
            del self._seen[1::2]

    def left(self, total: int | None, now: float) -> float | None:
        """Seconds until the phase is done, if its speed stays the same."""
        (began, first), (last, done) = self._seen[0], self._seen[-1]
        if total is None or now - began < LEAST_SECONDS or len(self._seen) < 4 or done >= total:
            return None
        if done - first < LEAST_SHARE * (total - first):
            return None
        half = next(own for own in self._seen if own[0] >= (began + last) / 2)
        early = (half[1] - first) / max(half[0] - began, 1e-9)
        late = (done - half[1]) / max(last - half[0], 1e-9)
        if min(early, late) <= 0 or max(early, late) > STEADY * min(early, late):
            return None
        rate = (done - first) / (last - began)
        return max((total - done) / rate - (now - last), 0.0)


def left_of_tasks(seconds: Sequence[float], left: int, current: float) -> float | None:
    """Seconds for the `left` tasks, estimated from the finished ones; `current` seconds are spent on the next one."""
    if left == 0 or len(seconds) < 3 or max(seconds) > ALIKE * min(seconds):
        return None
    usual = sum(seconds) / len(seconds)
    if current > max(seconds):
        return None  # this one is different
    return max(left * usual - current, 0.0)


def in_words(seconds: float) -> str:
    """The time in words, rounded because it is only an estimate."""
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600)} h"


__all__ = ["Pace", "in_words", "left_of_tasks"]
