"""Ctrl-C and `kill` while training: finish the current step, keep everything, then stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def noticed() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether the user wants to stop, which only works in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        if asked:  # asked twice: stop at once
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


__all__ = ["noticed"]
