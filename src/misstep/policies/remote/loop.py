"""An event loop in a thread of its own, so that callers with or without a loop can use it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(_handle)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run in the loop and wait for the result; an interrupt cancels the work."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(5)


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # With several loops in one process, grpc wakes all of them for an event in any of them.
    if not isinstance(context.get("exception"), BlockingIOError):
        loop.default_exception_handler(context)
