"""A cluster of this machine for tests, and the processes in it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="dask.distributed is not installed (pip install 'misstep[cluster]')",
)


class Notes:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, phase: str, done: int, *_: object) -> None:
        pass

    def note(self, text: str) -> None:
        self.lines.append(text)


@contextmanager
def local_scheduler(workers: int) -> Iterator[tuple[str, int]]:
    """The address of a scheduler that runs already, and the process that holds it."""
    from misstep.campaigns.cluster.local import LocalCluster

    cluster = LocalCluster(workers)
    try:
        yield cluster.address, cluster.pid
    finally:
        cluster.close()


def processes_below(pid: int) -> dict[int, str]:
    """Command lines of all processes below one, by number."""
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue  # it has ended
        parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(
            int(status.parent.name)
        )
    found: dict[int, str] = {}
    left = [pid]
    while left:
        for child in parents.get(left.pop(), ()):
            left.append(child)
            try:
                line = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            found[child] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def dask_workers(pid: int) -> list[int]:
    """The processes of workers below that of a local cluster."""
    return [
        own
        for own, line in processes_below(pid).items()
        if "cluster.local" in line and "--worker" in line
    ]


__all__ = ["Notes", "dask_workers", "local_scheduler", "needs_dask", "processes_below"]
