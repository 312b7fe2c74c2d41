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
_is_listening = _is_waiting = False


def _note(number: int, frame: FrameType | None) -> None:
    if _is_waiting:
        _came.append((number, frame))
    else:
        _before[number](number, frame)


@contextmanager
def listening() -> Iterator[None]:
    """Within, `uninterrupted` takes next to no time."""
    global _is_listening
    if _is_listening or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        for number in _STOPS:
            handler = signal.getsignal(number)
            if callable(handler) and handler is not _note:
                _before[number] = handler
                signal.signal(number, _note)
        _is_listening = True
        yield
    finally:
        _is_listening = False
        for number in _STOPS:
            if signal.getsignal(number) is _note:
                signal.signal(number, _before[number])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Within, requests to end wait. For moments only: nobody can stop what lies within."""
    global _is_waiting
    if _is_waiting or threading.current_thread() is not threading.main_thread():
        yield
        return
    with listening():
        _is_waiting = True
        try:
            yield
        finally:
            _is_waiting = False
            if _came:
                first, frame = _came[0]
                _came.clear()
                _note(first, frame)


__all__ = ["listening", "uninterrupted"]
