"""What every process that works has in common, wherever it was started: its seed of hashes, its limits, its end.

Whoever only starts such processes needs nothing else of the campaigns, so nothing else is imported here.
"""

from __future__ import annotations

import os
import signal

from misstep.errors import Interrupted
from misstep.kept import end_with_parent

OVERDUE = 1.0  # seconds after the limit of a unit: a process that does not hear its alarm is killed
STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def hash_seed(role: int) -> str:
    """Of the interpreter of a process: what depends on the order of hashes shows when it is asked again.

    The processes that test all have the same one; this process has whatever the user gave it.
    """
    ours = os.environ.get("PYTHONHASHSEED", "")
    seed = role
    if role and ours.isdecimal() and int(ours) == role:
        seed = role + 100
    return str(seed)


def end_with(parent: int) -> None:
    """Let the system end this process when the coordinator's does, however that ends."""
    end_with_parent()
    if os.getppid() != parent:  # it ended before
        os._exit(Interrupted.exit_code)


def limit_memory(megabytes: int) -> None:
    """What this process may allocate from here on, its data alone: libraries that are mapped do not count."""
    import resource

    # What is below it may be allowed more: the inference service works for others as well.
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    size = megabytes * 2**20
    size = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


__all__ = ["OVERDUE", "STOPS", "end_with", "hash_seed", "limit_memory"]
