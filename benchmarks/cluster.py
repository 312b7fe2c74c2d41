"""What a cluster costs: workers of dask on this machine against local processes, their start, and the store.

python -m benchmarks.cluster [RUNS]

Contestants take turns. "work" is the time between the first and the last unit that is stored: what a cluster takes to
start is measured apart, as it is paid once. The store is measured in the campaign itself: the time in which the
coordinator stores results, for each record, is what a thousand records a second would take of each second.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from benchmarks.common import report
from misstep.campaigns.cluster.address import Remote
from misstep.campaigns.cluster.local import LocalCluster
from misstep.campaigns.cluster.opening import open_cluster
from misstep.campaigns.engine import Engine
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.generate import generate
from misstep.tasks.load import AnyTask, load_task

WORKERS = 4
JOBS = 2
CAMPAIGNS: dict[str, tuple[tuple[str, dict[str, int]], str, dict[str, Any]]] = {
    "planning": (
        ("blocksworld", {"blocks": 8}),
        "noisy:0.2:1+heuristic:ff",
        {"pool": 400, "oracle": "bmo(10), bmo(20)+aras/ehc", "max_steps": 100},
    ),
    "model": (
        ("two-way-line", {"cells": 20, "packages": 3, "vmax": 3}),
        "random:3",
        {"runs": 20_000, "radius": 1},
    ),
}


class Clock:
    """When units were stored, and how long that took."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.storing = 0.0
        self.units = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        keep = Engine._keep

        def timed(engine: Engine, *given: Any) -> None:
            began = perf_counter()
            keep(engine, *given)
            self.last = perf_counter()
            self.first = self.first or began
            self.storing += self.last - began
            self.units += 1

        Engine._keep = timed  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Engine._keep = keep  # type: ignore[method-assign]


def task_of(name: str) -> AnyTask:
    (domain, sizes), _, _ = CAMPAIGNS[name]
    return load_task(generate(domain, **sizes))


def campaign(name: str, task: AnyTask, **where: Any) -> dict[str, float]:
    """One campaign: seconds of work, of storing, units and records."""
    _, policy, how = CAMPAIGNS[name]
    clock = Clock()
    began = perf_counter()
    with clock.watching(), run_campaign(task, policy, **how, **where) as found:
        records = len(found)
    return {
        "seconds": perf_counter() - began,
        "work": clock.last - clock.first,
        "storing": clock.storing,
        "units": clock.units,
        "records": records,
    }


def starts(address: str, runs: int) -> dict[str, float]:
    """Seconds from the start of a worker's program until the scheduler knows it, and until its first job is done."""
    import distributed

    known, answered = [], []
    for _ in range(runs):
        with distributed.Client(address, set_as_default=False) as client:
            before = set(client.scheduler_info(n_workers=-1)["workers"])
            began = perf_counter()
            program = [sys.executable, "-m", "distributed.cli.dask_worker", address]
            process = subprocess.Popen(
                [*program, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                client.wait_for_workers(len(before) + 1, timeout=60)
                known.append(perf_counter() - began)
                link = open_cluster(Remote(address), lambda _: None)
                for _ in range(2 * (len(before) + 1)):
                    link.submit("benchmarks.cluster:nothing", b"")
                for _ in range(2 * (len(before) + 1)):
                    link.next()
                answered.append(perf_counter() - began)
                link.close()
            finally:
                process.kill()
                process.wait()
                with contextlib.suppress(Exception):
                    client.wait_for_workers(len(before), timeout=5)
    return {"known": statistics.median(known), "first jobs": statistics.median(answered)}


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
            task = task_of(name)
            rows: dict[str, list[dict[str, float]]] = {"jobs": [], "cluster": []}
            for _ in range(runs):
                rows["jobs"].append(campaign(name, task, jobs=JOBS))
                rows["cluster"].append(campaign(name, task, cluster=cluster.address))
            middle = {
                who: {key: statistics.median(row[key] for row in own) for key in own[0]}
                for who, own in rows.items()
            }
            there = middle["cluster"]
            results[name] = {
                **middle,
                "slower": there["work"] / middle["jobs"]["work"] - 1,
                "store share at 1000 records/s": 1000 * there["storing"] / there["records"],
                "unit ms": 1000 * middle["jobs"]["work"] * JOBS / there["units"],
            }
        results["start of a worker"] = starts(cluster.address, runs)
    finally:
        cluster.close()
    report("cluster", results)


if __name__ == "__main__":
    main()
