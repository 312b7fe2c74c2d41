"""Several short jobs as one task of dask.

A task costs about 8 ms of a processor, whatever it does: 2 in the client, 3 in the scheduler, 3 in the worker. Short
jobs are therefore sent together: as many as are expected to take `TOGETHER` seconds. Each is still a job of its own,
with its limits, its process and its answer; only the transport is shared. Jobs that have ended a process, or were lost
with a worker, are sent alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.cluster.jobs import Blob, Died, Ticket

TOGETHER = (
    0.6  # seconds that the jobs of a parcel may take; at the end, other workers may wait as long
)
MOST = 16  # jobs in a parcel
FORGETS = 0.2  # weight of the last job in the average of the times


@dataclass(eq=False)
class Job:
    """A job that has no answer yet."""

    name: int
    ticket: Ticket
    body: bytes
    blobs: tuple[Blob, ...]
    end: float | None
    priority: float
    deaths: list[Died] = field(default_factory=list)
    losses: int = 0  # of workers
    parcel: Parcel | None = None  # with which it was sent


@dataclass(eq=False)
class Parcel:
    """Jobs that are one task of dask."""

    jobs: list[Job]
    future: Any = None


@dataclass
class Pace:
    """How long jobs take, and how many go into a parcel."""

    seconds: float | None = None

    def see(self, seconds: float) -> None:
        known = seconds if self.seconds is None else self.seconds
        self.seconds = known + FORGETS * (seconds - known)

    @property
    def size(self) -> int:
        if self.seconds is None:
            return 1
        return max(1, min(MOST, int(TOGETHER / max(self.seconds, 1e-6))))


__all__ = ["Job", "Pace", "Parcel"]
