"""The messages between the coordinator and the processes that do the work.

A job is a ticket, a body, and the digests of larger data that it needs. Such data is sent once to each worker and once
to each process there: dask moves it by its digest, and a process asks its worker for data that it does not have.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from misstep.errors import ToolError

INLINE = 4096  # bytes; smaller data is sent with each job
PROTOCOL = 5  # of pickle


class Blob(NamedTuple):
    """A larger thing, packed."""

    digest: str
    content: bytes


@dataclass(frozen=True)
class Ticket:
    """The session, function and limits of a job."""

    session: str  # of a coordinator; processes are not shared between sessions
    role: int  # 0: any free process; from 1 on: the process of that number, which does nothing else
    code: str  # the digest of the coordinator's Misstep
    entry: str  # MODULE:FUNCTION that does the job, as in `misstep.campaigns.cluster.units:do_unit`
    needs: tuple[str, ...] = ()  # digests, in the order of the blobs
    seconds: float | None = None
    memory_mb: int | None = None


@dataclass(frozen=True)
class Done:
    content: bytes  # what the entry has answered


@dataclass(frozen=True)
class Late:
    """The time was up, and the process did not react to its alarm."""


@dataclass(frozen=True)
class NoMemory:
    """The job did not fit into the memory of the process."""


@dataclass(frozen=True)
class Died:
    """The process ended in the middle of the job."""

    how: str  # as in "signal 9"
    words: str  # the last lines on its standard error
    worker: str = ""


@dataclass(frozen=True)
class Refused:
    """The worker has another Misstep than the coordinator."""

    version: str
    worker: str = ""


Answer = Done | Late | NoMemory | Died | Refused


def packed(value: object) -> Blob:
    content = pickle.dumps(value, PROTOCOL)
    return Blob(hashlib.sha256(content).hexdigest(), content)


def unpacked(content: object, *kinds: type) -> Any:
    """The result of a job, if it is of one of these kinds. Otherwise the worker is broken, or not one of ours."""
    try:
        if not isinstance(content, bytes):
            raise TypeError("no bytes")
        found = pickle.loads(content)
        if not isinstance(found, kinds):
            raise TypeError(f"a {type(found).__name__}")
    except Exception as error:  # a damaged pickle may raise any
        raise ToolError(
            f"the answer of a worker cannot be read: {type(error).__name__}: {error!s:.80}",
            hint="what is stored is kept: look at the workers, then continue with --resume",
        ) from error
    return found


class Shelf:
    """The larger data of a process: unpacked once; the least recently used is dropped first.

    Two jobs that need the same digest get the same object, so code that recognises its data by identity does not
    read it again.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._objects: dict[str, Any] = {}

    def missing(self, needs: Sequence[str]) -> list[str]:
        return [digest for digest in dict.fromkeys(needs) if digest not in self._objects]

    def put(self, digest: str, content: bytes) -> None:
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"what came is not {digest}")
        self._objects[digest] = pickle.loads(content)

    def take(self, digest: str) -> Any:
        found = self._objects.pop(digest)
        self._objects[digest] = found
        return found

    def tidy(self, needs: Sequence[str]) -> None:
        """Free memory, but keep what the next job needs."""
        for digest in [own for own in self._objects if own not in needs]:
            if len(self._objects) <= self._most:
                break
            del self._objects[digest]

    def clear(self) -> None:
        self._objects.clear()


__all__ = [
    "INLINE",
    "PROTOCOL",
    "Answer",
    "Blob",
    "Died",
    "Done",
    "Late",
    "NoMemory",
    "Refused",
    "Shelf",
    "Ticket",
    "packed",
    "unpacked",
]
