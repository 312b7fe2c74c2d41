"""What a cluster costs: workers of dask on this machine against local processes, their start, and the store.

python -m benchmarks.cluster [RUNS]

Four workers share two cores with everything else, so what they cost more than two local processes is processor time:
that of the coordinator, the scheduler, the workers and their processes together. It is taken of a small and of a large
campaign. The difference is what the work costs; what it takes to start processes is in both. The store is measured
in the campaign itself: the processor time in which the coordinator stores results, for each record, is what a thousand
records a second take of each second.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from benchmarks.common import report
from misstep.campaigns.cluster import host, local
from misstep.campaigns.cluster.jobs import Ticket
from misstep.campaigns.cluster.local import LocalCluster
from misstep.campaigns.engine import Engine
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.generate import generate
from misstep.tasks.load import AnyTask, load_task

WORKERS = 4
JOBS = 2
Campaigns = dict[str, tuple[tuple[str, dict[str, int]], str, dict[str, Any], tuple[str, int, int]]]
CAMPAIGNS: Campaigns = {
    "planning": (
        ("blocksworld", {"blocks": 6}),
        f"python:{Path(__file__).resolve()}:slow",
        {"oracle": "bmo(10), bmo(20)+aras/ehc", "max_steps": 30},
        ("pool", 50, 200),
    ),
    "model": (
        ("two-way-line", {"cells": 20, "packages": 3, "vmax": 3}),
        "random:3",
        {"radius": 1},
        ("runs", 1000, 9000),
    ),
}
TICKS = os.sysconf("SC_CLK_TCK")


def slow(state: Any) -> object:
    """A policy that takes a fraction of a millisecond to say the first operator."""
    sum(number * number for number in range(4_000))
    return state.operators[0] if state.operators else None


def spent(pid: int) -> float:
    """Processor seconds of a process and all below it, also of those that have ended and were waited for."""
    total, known = 0, {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            known[int(status.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    for own in known:
        above: int | None = own
        while above in known and above != pid:
            above = known[above][0]
        if above == pid:
            total += known[own][1]
    return total / TICKS


@dataclass
class Storing:
    """Processor seconds in which results are stored."""

    seconds: float = 0.0
    units: int = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        keep = Engine._keep

        def timed(engine: Engine, *given: Any) -> None:
            began = thread_time()
            keep(engine, *given)
            self.seconds += thread_time() - began
            self.units += 1

        Engine._keep = timed  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Engine._keep = keep  # type: ignore[method-assign]


def task_of(name: str) -> AnyTask:
    (domain, sizes), *_ = CAMPAIGNS[name]
    return load_task(generate(domain, **sizes))


def campaign(name: str, task: AnyTask, size: int, cluster: LocalCluster | None) -> dict[str, float]:
    """One campaign: seconds, processor seconds of all processes, of storing, units and records."""
    _, policy, how, (option, *_) = CAMPAIGNS[name]
    where: dict[str, Any] = {"jobs": JOBS} if cluster is None else {"cluster": cluster.address}
    where[option] = size
    storing = Storing()
    began, before = perf_counter(), spent(os.getpid())
    with storing.watching(), run_campaign(task, policy, **how, **where) as found:
        records = len(found)
    return {
        "seconds": perf_counter() - began,
        "processor": spent(os.getpid()) - before,
        "storing": storing.seconds,
        "units": storing.units,
        "records": records,
    }


def compare(name: str, cluster: LocalCluster, runs: int) -> dict[str, Any]:
    *_, (_, small, large) = CAMPAIGNS[name]
    task = task_of(name)
    rows: dict[str, list[dict[str, float]]] = {"jobs": [], "cluster": []}
    campaign(name, task, small, None)  # everything is imported now
    for _ in range(runs):
        for who, place in (("jobs", None), ("cluster", cluster)):
            less = campaign(name, task, small, place)
            more = campaign(name, task, large, place)
            rows[who].append({key: more[key] - less[key] for key in more})
    middle = {
        who: {key: round(statistics.median(row[key] for row in own), 4) for key in own[0]}
        for who, own in rows.items()
    }
    there = middle["cluster"]
    return {
        **middle,
        "slower": there["processor"] / middle["jobs"]["processor"] - 1,
        "store share at 1000 records/s": 1000 * there["storing"] / there["records"],
        "unit ms": 1000 * middle["jobs"]["processor"] / there["units"],
    }


def starts(address: str, folder: str, runs: int) -> dict[str, float]:
    """From the start of a worker's program until the scheduler knows it, and until its process has done a job."""
    import distributed

    seconds: list[tuple[float, float]] = []
    processor: list[tuple[float, float]] = []
    for _ in range(runs):
        with distributed.Client(address, set_as_default=False) as client:
            before = len(client.scheduler_info(n_workers=-1)["workers"])
            began = perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", local.__name__, local.WORKER, address, folder],
                stderr=subprocess.DEVNULL,
            )
            try:
                client.wait_for_workers(before + 1, timeout=120)
                known = perf_counter() - began, spent(process.pid)
                child = host.start(("a benchmark", 0, None))
                child.do(Ticket("a benchmark", 0, "", "benchmarks.cluster:nothing"), b"", {})
                seconds.append((known[0], perf_counter() - began))
                processor.append((known[1], known[1] + spent(child.process.pid)))
                child.end()
            finally:
                process.kill()
                process.wait()
    names = ("known to the scheduler", "first job done")
    return {
        f"{name}, {unit}": round(statistics.median(own[place] for own in values), 2)
        for unit, values in (("seconds", seconds), ("processor seconds", processor))
        for place, name in enumerate(names)
    }


def nothing(*_: object) -> bytes:
    return b""


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    began = perf_counter()
    cluster = LocalCluster(WORKERS)
    started = perf_counter() - began
    results: dict[str, Any] = {"workers": WORKERS, "jobs": JOBS, "cluster started": started}
    try:
        for name in CAMPAIGNS:
            results[name] = compare(name, cluster, runs)
        with tempfile.TemporaryDirectory() as folder:
            results["start of a worker"] = starts(cluster.address, folder, runs)
    finally:
        cluster.close()
    report("cluster", results)


if __name__ == "__main__":
    main()
