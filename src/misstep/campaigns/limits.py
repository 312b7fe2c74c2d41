"""What a session of work on a campaign may spend, and how it tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from misstep.errors import UsageError

# phase, done, of how many (None: unknown), bugs so far
Progress = Callable[[str, int, int | None, int], None]


@runtime_checkable
class TaskProgress(Protocol):
    """A progress that also wants to know how many of the tasks are done."""

    def tasks(self, done: int, total: int) -> None: ...


@runtime_checkable
class NoteProgress(Protocol):
    """A progress that also wants to know what else a user should read, such as the address of a dashboard."""

    def note(self, text: str) -> None: ...


def note_of(progress: Callable[..., None] | None) -> Callable[[str], None]:
    """Who is told a line; nobody, if the progress does not take any."""
    if isinstance(progress, NoteProgress):
        return progress.note
    return lambda _: None


MOST = 10**9  # 30 years, or a petabyte: what is more does not fit the timers of the system


@dataclass(frozen=True)
class Limits:
    """What a session may spend. What a limit leaves undone can be done by another session."""

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
        """For one process."""
        shares = [None if self.memory is None else self.memory // jobs, self.task_memory]
        return min((int(share) for share in shares if share is not None), default=None)


__all__ = ["MOST", "Limits", "NoteProgress", "Progress", "TaskProgress", "note_of"]
