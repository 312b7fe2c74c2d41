"""Ctrl-C, `kill` and a closed terminal while training: finish the current step, keep everything, then stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from misstep.stops import ONCE, Stopped

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def noticed() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether the user wants to stop, which only works in the main thread.

    Who asks again while the current step takes long stops at once. Once the function has said yes, everything is being
    stored, and nothing interrupts that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[float] = []
    heard = False

    def note(*_: object) -> None:
        # A signal for a group of processes comes twice: once from the sender, and once from our parent.
        if asked and not heard and monotonic() - asked[0] >= ONCE:
            raise Stopped
        asked.append(monotonic())

    def stop() -> bool:
        nonlocal heard
        heard = bool(asked)
        return heard

    # What is ignored (`nohup`, a background job) stays ignored.
    before = {
        number: signal.signal(number, note)
        for number in _STOPS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


__all__ = ["noticed"]
