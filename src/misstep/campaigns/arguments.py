"""Checks of arguments that are not settings: numbers, paths, limits.

Each error says what was given and what is expected.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.limits import MOST, Limits
from misstep.errors import UsageError
from misstep.tasks.parameters import did_you_mean

LIMITS = ("time", "task_time", "memory", "task_memory")


def check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise UsageError(f"{name} is {value!r:.40}", expected="a positive number below 2^31")


def check_truth(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r:.40}", expected="True or False")


def check_seconds(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MOST:
        raise UsageError(f"{name} is {value!r:.40}", expected=f"seconds, at most {MOST}")


def as_path(name: str, value: object, expected: str) -> Path:
    """Check that the value is a path. Bytes are refused, because file names are text everywhere else."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise UsageError(f"{name} is {value!r:.80}", expected=expected)
    return Path(value)


def as_limits(limits: object) -> Limits:
    """Convert to `Limits`; a dictionary such as `{"time": 60}` will do."""
    if limits is None:
        return Limits()
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in LIMITS:
                hint = did_you_mean(str(name), LIMITS)
                raise UsageError(
                    f"no limit {name!r:.40}", expected="one of " + ", ".join(LIMITS), hint=hint
                )
        return Limits(**limits)
    if not isinstance(limits, Limits):
        raise UsageError(f"limits is {limits!r:.80}", expected='Limits, or such as {"time": 60}')
    return limits


def check_session(
    jobs: object, batch_size: object, limits: object, progress: object, cluster: object = None
) -> None:
    """Check the arguments of a session of work that are not settings of the campaign."""
    check_number("jobs", jobs)
    if batch_size is not None:
        check_number("batch_size", batch_size)
    spending = as_limits(limits)
    if cluster is not None:
        check_cluster(cluster, jobs, spending)
    if progress is not None and not callable(progress):
        raise UsageError(f"progress is {progress!r:.80}", expected="a function")


def check_cluster(cluster: object, jobs: object, limits: Limits) -> None:
    """Check the options of a cluster before the work begins, without connecting to it."""
    read_address(cluster)
    if jobs != 1:
        raise UsageError("both --jobs and --cluster are given", expected="one of them")
    if limits.memory is not None:
        raise UsageError(
            "--memory with --cluster: the number of workers varies, so the limit of each is not known",
            expected="--task-memory MB, the limit of each process that works",
        )


__all__ = ["as_limits", "as_path", "check_seconds", "check_session", "check_truth"]
