"""Limits for a session of work on a campaign, and the callbacks that report its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from misstep.errors import UsageError

# phase, done, of how many (None: unknown), bugs so far
Progress = Callable[[str, int, int | None, int], None]


@runtime_checkable
class TaskProgress(Protocol):
    """A progress callback that is also told how many of the tasks are done."""

    def tasks(self, done: int, total: int) -> None: ...


@runtime_checkable
class NoteProgress(Protocol):
    """A progress callback that also takes notes for the user, such as the address of a dashboard."""

    def note(self, text: str) -> None: ...


def note_of(progress: Callable[..., None] | None) -> Callable[[str], None]:
    """The function that takes notes; it does nothing if the progress callback takes none."""
    if isinstance(progress, NoteProgress):
        return progress.note
    return lambda _: None


MOST = 10**9  # 30 years, or a petabyte; timers of the system cannot hold more


@dataclass(frozen=True)
class Limits:
    """The limits of a session. Another session can do the work that a limit has left."""

    time: float | None = None  # seconds for the campaign
    task_time: float | None = None  # seconds for each task
    memory: int | None = None  # megabytes, all workers together
    task_memory: int | None = None  # megabytes for the work on one task in one process

    def __post_init__(self) -> None:
        for name in ("time", "task_time", "memory", "task_memory"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value <= MOST):
                raise UsageError(f"{name} is {value!r}", expected=f"more than 0, at most {MOST}")

    def megabytes(self, jobs: int) -> int | None:
        """The memory limit of one process."""
        shares = [None if self.memory is None else self.memory // jobs, self.task_memory]
        return min((int(share) for share in shares if share is not None), default=None)


__all__ = ["MOST", "Limits", "NoteProgress", "Progress", "TaskProgress", "note_of"]
