"""How long something still takes, where that can be known; else nothing is said.

An estimate that is wrong is worse than none. So one is given only after a while, only if work went on about as fast
lately as before, and for several tasks only if those that are done took about as long as each other.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SECONDS = 4.0
LEAST_SHARE = 0.05
STEADY = 1.7  # how many times faster or slower the second half of the work may be than the first
ALIKE = 3.0  # how many times longer one task may take than another


class Pace:
    """The work of one phase, as it was seen."""

    def __init__(self, done: int, now: float) -> None:
        self._seen = [(now, done)]

    def see(self, done: int, now: float) -> None:
        if done == self._seen[-1][1]:
            return
        self._seen.append((now, done))
        if len(self._seen) > 400:
            del self._seen[1::2]

    def left(self, total: int | None, now: float) -> float | None:
        """Seconds until the phase is done, if it goes on as it did."""
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
    """Seconds for the tasks that are left, from what those took that are done; `current` is spent on the next one."""
    if left == 0 or len(seconds) < 3 or max(seconds) > ALIKE * min(seconds):
        return None
    usual = sum(seconds) / len(seconds)
    if current > max(seconds):
        return None  # this one is different
    return max(left * usual - current, 0.0)


def in_words(seconds: float) -> str:
    """Rounded as much as it is known."""
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600)} h"


__all__ = ["Pace", "in_words", "left_of_tasks"]
