"""What a cluster of this machine costs: `--cluster local:4` against `--jobs 2`, for units of 0.1 processor seconds.

python -m benchmarks.cluster [RUNS]

The runs of one policy on a model, in batches of thousands, are made both ways in turns; a batch is a unit, and none
waits for another. The first forty units are the warm-up, in which processes start and load what they need; all others
are the steady part, after which the campaign is left. Of both, seconds by the clock and processor seconds of all
processes together (the coordinator, the scheduler, workers and their processes) are taken. Four workers on a machine
with two cores that others use too get more of it than two processes do, so that the clock flatters them there: the
processor time is what counts.
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
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
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
BATCH = 20_000  # runs in a unit
WARM = 40
# Many: results are stored in order, so that at each mark some are done and not stored, more of them on a cluster, where
# several share a task.
UNITS = 240
MORE = 160  # behind them, so that at the last mark as many are under way as at the first
TICKS = os.sysconf("SC_CLK_TCK")


class EnoughError(Exception):
    """All units are measured that shall be."""


UNITS_OF = "processes that do units"
# What a process is, by a part of its command line; the first that fits.
ROLES = {
    UNITS_OF: ("cluster.child", "campaigns.workers"),
    "workers of dask": (local.WORKER,),
    "scheduler": ("cluster.local",),
    "coordinator": ("",),
}


def spent(pid: int) -> dict[str, float]:
    """Processor seconds of a process and all below it, also of those that have ended and were waited for, by role."""
    known = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            line = status.with_name("cmdline").read_text()
            known[int(status.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])), line
    ticks = dict.fromkeys(ROLES, 0)
    for own, (_, used, line) in known.items():
        above: int | None = own
        while above in known and above != pid:
            above = known[above][0]
        if above == pid:
            role = next(name for name, parts in ROLES.items() if any(p in line for p in parts))
            ticks[role] += used
    return {role: used / TICKS for role, used in ticks.items()}


@dataclass
class Mark:
    """Where the work stands."""

    clock: float
    processor: dict[str, float]  # by role

    @property
    def total(self) -> float:
        return sum(self.processor.values())

    @staticmethod
    def now() -> Mark:
        return Mark(perf_counter(), spent(os.getpid()))


@dataclass
class Watch:
    """Looks at the clocks when the warm-up and when all is stored."""

    marks: list[Mark] = field(default_factory=lambda: [Mark.now()])
    seconds: list[float] = field(default_factory=list)  # of units, where they are done

    @contextmanager
    def watching(self) -> Iterator[None]:
        keep = Engine._keep

        def watched(engine: Engine, run: Any, stage: Any, unit: Any, result: Any) -> None:
            keep(engine, run, stage, unit, result)
            self.seconds.append(result.seconds)
            if len(self.seconds) in (WARM, UNITS):
                self.marks.append(Mark.now())
            if len(self.seconds) == UNITS:
                raise EnoughError

        Engine._keep = watched  # type: ignore[method-assign, assignment]
        try:
            yield
        except EnoughError:
            pass
        finally:
            Engine._keep = keep  # type: ignore[method-assign]


def campaign(task: AnyTask, **where: Any) -> dict[str, float]:
    """One campaign; what its warm-up takes, and what each unit after it does."""
    watch = Watch()
    config = {"model": {"batch": BATCH}}
    with watch.watching():
        # More runs than are wanted: the last units measured have others behind them.
        runs = BATCH * (UNITS + MORE)
        run_campaign(task, "random:3", runs=runs, radius=1, config=config, **where).close()
    begin, warm, end = watch.marks
    steady = UNITS - WARM
    return {
        "unit, seconds of its own": statistics.median(watch.seconds[WARM:]),
        "units/s by the clock": steady / (end.clock - warm.clock),
        "processor seconds a unit": (end.total - warm.total) / steady,
        **{
            f"of these, {role}": (end.processor[role] - warm.processor[role]) / steady
            for role in ROLES
        },
        "warm-up, seconds": warm.clock - begin.clock,
        "warm-up, processor seconds": warm.total - begin.total,
    }


def compare(runs: int) -> dict[str, Any]:
    task = load_task(generate("two-way-line", cells=20, packages=3, vmax=3))
    rows: dict[str, list[dict[str, float]]] = {"jobs": [], "cluster": []}
    for _ in range(runs):
        rows["jobs"].append(campaign(task, jobs=JOBS))
        rows["cluster"].append(campaign(task, cluster=f"local:{WORKERS}"))
    middle = {
        who: {key: round(statistics.median(row[key] for row in own), 4) for key in own[0]}
        for who, own in rows.items()
    }
    each = "processor seconds a unit"
    pairs = list(zip(rows["cluster"], rows["jobs"], strict=True))
    more = sorted(there[each] / here[each] - 1 for there, here in pairs)
    # Without the processes that do the units, whose own time depends on what else the machine does.
    others = [f"of these, {role}" for role in ROLES if role != UNITS_OF]
    added = [sum(there[own] - here[own] for own in others) / here[each] for there, here in pairs]
    return {
        **middle,
        "more processor time": round(statistics.median(more), 3),
        "least and most": [round(more[0], 3), round(more[-1], 3)],
        "more, of all but the processes that do units": round(statistics.median(added), 3),
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
                [sys.executable, "-c", local.PROGRAM, local.WORKER, address, folder],
                stderr=subprocess.DEVNULL,
            )
            try:
                client.wait_for_workers(before + 1, timeout=120)
                known = perf_counter() - began, sum(spent(process.pid).values())
                child = host.start(("a benchmark", 0, None))
                child.do(Ticket("a benchmark", 0, "", "benchmarks.cluster:nothing"), b"", {})
                seconds.append((known[0], perf_counter() - began))
                processor.append((known[1], known[1] + sum(spent(child.process.pid).values())))
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
    results: dict[str, Any] = {"workers": WORKERS, "jobs": JOBS, "load before": os.getloadavg()[0]}
    results["campaign"] = compare(runs)
    cluster = LocalCluster(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            results["start of a worker"] = starts(cluster.address, folder, runs)
    finally:
        cluster.close()
    results["load after"] = os.getloadavg()[0]
    report("cluster", results)


if __name__ == "__main__":
    main()
