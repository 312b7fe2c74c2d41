"""A limit on the time of a unit: an exception that comes from outside, wherever Python code is at work.

Such an exception can come between any two instructions, so two places need care. In a finalizer Python swallows it, and
the alarm has to ring again. In the code that sets and ends the alarm it must not be raised at all: the timer would be
left running.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from misstep.stops import SOON, Stopped

RING_AGAIN = 0.5  # seconds


class OutOfTime(Stopped):
    """The time for a unit is up. Not an `Exception`, so that no code between here and the worker handles it."""


class Alarm:
    """Raise OutOfTime when the time is up. Only the main thread can be interrupted."""

    def __init__(self, seconds: float | None) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        self._seconds = seconds if in_main else None

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._swallowed
            self._before = signal.signal(signal.SIGALRM, self._ring)
            self._ring_in(self._seconds)

    def __exit__(self, *_: object) -> None:
        if self._seconds is not None:
            sys.unraisablehook = self._hook  # first: ours would set the timer again
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring_in(self, seconds: float) -> None:
        # The alarm repeats: otherwise a policy that catches all exceptions would have no limit.
        signal.setitimer(signal.ITIMER_REAL, max(seconds, SOON), RING_AGAIN)

    def _ring(self, _: int, frame: FrameType | None) -> None:
        """Not in our own methods: the timer would be left running, for whoever works next."""
        while frame is not None:
            if frame.f_code in _OWN:
                return
            frame = frame.f_back
        raise OutOfTime

    def _swallowed(self, told: Any) -> None:
        """Python cannot hand on what is raised in a finalizer."""
        if isinstance(told.exc_value, OutOfTime):
            self._ring_in(SOON)
        else:
            self._hook(told)


_OWN = {own.__code__ for own in (Alarm.__enter__, Alarm.__exit__, Alarm._swallowed)}


__all__ = ["Alarm", "OutOfTime"]
