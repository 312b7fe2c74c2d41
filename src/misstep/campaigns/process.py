"""What all worker processes have in common: their hash seed, their limits, and how they end.

Code that only starts such processes needs nothing else of the campaigns, so nothing else is imported here.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.errors import Interrupted
from misstep.kept import end_with_parent

OVERDUE = 1.0  # seconds after the limit of a unit: a process that does not hear its alarm is killed
STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def hash_seed(role: int) -> str:
    """The PYTHONHASHSEED of a process. It varies, so that asking again shows whether a policy depends on it.

    All processes that test have the same one; this process has the one of the user.
    """
    ours = os.environ.get("PYTHONHASHSEED", "")
    seed = role
    if role and ours.isdecimal() and int(ours) == role:
        seed = role + 100
    return str(seed)


def end_with(parent: int) -> None:
    """Let the system end this process when the coordinator ends for any reason."""
    end_with_parent()
    if os.getppid() != parent:  # it ended before
        os._exit(Interrupted.exit_code)


def limit_memory(megabytes: int) -> None:
    """Limit the memory that this process may allocate from now on; mapped libraries do not count."""
    import resource

    # Child processes may use more: the inference service also works for others.
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    size = megabytes * 2**20
    size = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


@contextmanager
def with_children() -> Iterator[None]:
    """Let a daemonic process, such as one of `multiprocessing.Pool`, start others.

    Python forbids it because they might outlive their parent. Ours do not (`end_with`).
    """
    from multiprocessing.process import current_process

    ours = current_process()
    was = ours.daemon
    ours.daemon = False
    try:
        yield
    finally:
        ours.daemon = was


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block Ctrl-C while processes start; they inherit this and unblock it when they can handle it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


__all__ = [
    "OVERDUE",
    "STOPS",
    "end_with",
    "hash_seed",
    "limit_memory",
    "with_children",
    "without_interrupts",
]
