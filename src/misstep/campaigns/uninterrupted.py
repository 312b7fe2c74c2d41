"""Ctrl-C that waits until something is stored.

Python raises `KeyboardInterrupt` between any two instructions: after SQLite has begun a transaction and before that is
noted, after it has committed one and before its sums are known to be stored. And SQLite calls functions of ours (the
triggers and the authorizer of seal.py), whose exceptions it does not hand on: it says that the statement was refused.
So requests to end are noted for the moment, and handed on afterwards.

To replace handlers takes longer than to store a unit. Who stores much replaces them once (`listening`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_Handler = Callable[[int, FrameType | None], object]
_before: dict[int, _Handler] = {}  # the handlers that are replaced
_came: list[tuple[int, FrameType | None]] = []
_is_listening = False
_depth = 0  # of `uninterrupted`


def _note(number: int, frame: FrameType | None) -> None:
    if _depth:
        _came.append((number, frame))
    else:
        _before[number](number, frame)


def _replace() -> None:
    for number in _STOPS:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _note:
            _before[number] = handler
            signal.signal(number, _note)


def _put_back() -> None:
    for number in _STOPS:
        if signal.getsignal(number) is _note:
            signal.signal(number, _before[number])


def _is_main() -> bool:
    """Whether this thread is the one that Python interrupts."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def listening() -> Iterator[None]:
    """Within, `uninterrupted` takes next to no time."""
    global _is_listening
    if _is_listening or not _is_main():
        yield
        return
    try:
        _replace()
        _is_listening = True
        yield
    finally:
        _is_listening = False
        _put_back()


class uninterrupted:  # noqa: N801
    """Within, requests to end wait. For moments only: nobody can stop what lies within."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth
        if _is_main():
            if not _depth and not _is_listening:
                _replace()
            _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth
        if not _is_main():
            return
        if _depth > 1:
            _depth -= 1
            return
        _depth = 0  # first: from here on somebody may be interrupted, and nobody must wait for ever
        came = _came[:1]
        _came.clear()
        if not _is_listening:
            _put_back()
        for number, frame in came:
            _before[number](number, frame)


__all__ = ["listening", "uninterrupted"]
