"""A process that does jobs, one after the other, for the worker of dask that started it.

It asks its worker for data that it does not have. It ends when the worker ends, for whatever reason.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import cast

from misstep.campaigns.cluster.jobs import Shelf
from misstep.campaigns.process import STOPS, end_with, limit_memory
from misstep.stops import mark_stops

DONE, NEED, NO_MEMORY = "done", "need", "no memory"
Entry = Callable[[bytes, Shelf, str, float | None], bytes]
"""Does a job, given its body, its data, a folder for files, and its time limit in seconds."""


def main(fd: int) -> None:
    """The program of the process."""
    connection = Connection(fd)
    try:
        memory_mb, parent, folder = connection.recv()
    except (EOFError, ConnectionResetError):
        return
    # The coordinator decides when the work ends. The system itself ends the process, not a handler of Python,
    # which would wait for native code.
    for number in STOPS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    mark_stops()
    end_with(parent)
    faulthandler.enable()  # what it says is among the last words
    if memory_mb is not None:
        limit_memory(memory_mb)
    with contextlib.suppress(
        EOFError, BrokenPipeError, ConnectionResetError
    ):  # the worker has ended
        serve(connection, folder)


def serve(connection: Connection, folder: str) -> None:
    shelf = Shelf()
    while True:
        try:
            entry, body, needs, seconds = connection.recv()
            shelf.tidy(needs)
            missing = shelf.missing(needs)
            if missing:
                connection.send((NEED, missing))
                for digest, content in zip(missing, connection.recv(), strict=True):
                    shelf.put(digest, content)
            answer = _entry(entry)(body, shelf, folder, seconds)
        except MemoryError:
            shelf.clear()
            connection.send((NO_MEMORY, b""))
            continue
        connection.send((DONE, answer))


def _entry(name: str) -> Entry:
    module, _, function = name.partition(":")
    return cast(Entry, getattr(importlib.import_module(module), function))


__all__ = ["DONE", "NEED", "NO_MEMORY", "Entry", "main", "serve"]
