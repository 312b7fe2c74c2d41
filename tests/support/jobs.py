"""Jobs for the processes of a worker, which import them by name."""

from __future__ import annotations

import os
import signal
import threading

from misstep.campaigns.cluster.jobs import Shelf


def echo(body: bytes, *_: object) -> bytes:
    """With the process that answers and its seed of hashes."""
    return b"%s %d %s" % (body, os.getpid(), os.environ["PYTHONHASHSEED"].encode())


def crash(*_: object) -> bytes:
    os.write(2, b"farewell\n")
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def sleep(*_: object) -> bytes:
    threading.Event().wait()
    return b""


def grow(*_: object) -> bytes:
    return bytes(10**12)


def needy(body: bytes, shelf: Shelf, *_: object) -> bytes:
    """What the job needs, by its digest."""
    return str(shelf.take(body.decode())).encode()
