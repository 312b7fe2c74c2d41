"""Tell a request of the user to stop from a `KeyboardInterrupt` that the code of a policy makes.

A policy can raise `KeyboardInterrupt`, or send a signal to its own process. That is a crash of the policy. If it were
taken for Ctrl-C, a script would believe that somebody has stopped the campaign, and nothing would be recorded.

Python swallows what is raised in a finalizer (`__del__`, the callback of a weak reference): it prints a traceback, and
the work goes on. So a request to stop that came to such a place is made again once the finalizer has ended. Until
version 3.11, Python also turns what is raised in `__set_name__`, while a class is made, into a `RuntimeError`. A
request that comes there is made again as well.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
from time import monotonic, sleep
from types import FrameType
from typing import Any

ONCE = 0.3  # seconds within which two signals count as one Ctrl-C (one from the terminal, one forwarded)
HEARD = 0.5  # seconds within which a signal for all our processes has reached the parent as well
SOON = 1e-4  # seconds until a request is made again that would be swallowed

_marked = False
_told: mmap.mmap | None = None
_last = -1.0
_number: int = signal.SIGINT  # the signal of the last request


class Stopped(KeyboardInterrupt):
    """The user, or a limit, ends the work."""


def mark_stops() -> None:
    """From now on, every request to stop this process is a `Stopped`, or ends the process without an exception."""
    global _marked
    if not _marked:
        _make_again()
    _marked = True


def _make_again() -> None:
    """Let requests to stop come again that Python has swallowed."""
    otherwise = sys.unraisablehook

    def hook(told: Any) -> None:
        global _last
        if not isinstance(told.exc_value, Stopped):
            otherwise(told)
            return
        while True:
            try:
                _last = -1.0
                _again(_number)
                return
            except Stopped:  # it came before the end of this hook, which would swallow it, too
                continue

    sys.unraisablehook = hook


def _again(number: int) -> None:
    threading.Timer(SOON, os.kill, (os.getpid(), number)).start()


def ends_work(error: BaseException) -> bool:
    """Whether an exception from the code of a policy is none of its own, but ends the work as a whole.

    In a program of somebody else (our library), a plain `KeyboardInterrupt` may well be Ctrl-C.
    """
    if isinstance(error, KeyboardInterrupt):
        return isinstance(error, Stopped) or not _marked
    return isinstance(error, MemoryError)


def heard_by(told: mmap.mmap) -> None:
    """Where the parent notes that it was asked to stop. A signal that only this process gets is not of the user."""
    global _told
    _told = told


def interrupt_once(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C and of requests to end. After each, it ignores further ones for a moment."""
    global _last, _number
    if not _is_told():
        # A policy has probably sent it. In its code this is a crash; anywhere else it ends the work all the same.
        raise KeyboardInterrupt
    now = monotonic()
    if now - _last >= ONCE:
        if _names_a_member(frame):
            _again(number)
            return
        _last, _number = now, number
        raise Stopped


def _names_a_member(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__set_name__":
        frame = frame.f_back
    return frame is not None


def _is_told() -> bool:
    if _told is None:
        return True
    deadline = monotonic() + HEARD
    while not _told[0] and monotonic() < deadline:
        sleep(0.005)
    return bool(_told[0])


__all__ = [
    "HEARD",
    "ONCE",
    "SOON",
    "Stopped",
    "ends_work",
    "heard_by",
    "interrupt_once",
    "mark_stops",
]
