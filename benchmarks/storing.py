"""What storing takes of a campaign: processor time of the coordinator for each record, and where it goes.

python -m benchmarks.storing [RUNS]

Campaigns of cheap units run in one process, into a folder. The processor time in which results are stored is taken in
turns with and without the digest of the records, and so is the part in which rows are inserted. What is left is
transactions and Python that checks and encodes. A thousand records a second take of each second a thousand times what
a record takes.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

from benchmarks.common import report
from benchmarks.sealing import Unsealed
from misstep.campaigns import store
from misstep.campaigns.engine import Engine
from misstep.campaigns.seal import Seal
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.generate import generate
from misstep.tasks.load import AnyTask, load_task

CAMPAIGNS: dict[str, tuple[tuple[str, dict[str, int]], str, dict[str, Any]]] = {
    "planning": (
        ("blocksworld", {"blocks": 6}),
        "noisy:0.2:1+heuristic:ff",
        {"pool": 400, "oracle": "bmo(10), bmo(20)+aras/ehc", "max_steps": 50},
    ),
    "model": (
        ("two-way-line", {"cells": 20, "packages": 3, "vmax": 3}),
        "random:3",
        {"runs": 9000, "radius": 1},
    ),
}


class Clock:
    """Adds up the processor time of all calls of a method."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    @contextmanager
    def on(self, owner: type, name: str) -> Iterator[None]:
        method = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> object:
            began = thread_time()
            try:
                return method(*given, **named)
            finally:
                self.seconds += thread_time() - began
                self.calls += 1

        setattr(owner, name, timed)
        try:
            yield
        finally:
            setattr(owner, name, method)


def stored(task: AnyTask, name: str, seal: type) -> dict[str, float]:
    """Microseconds for each record."""
    _, policy, how = CAMPAIGNS[name]
    sealed, whole, inserting = Seal, Clock(), Clock()
    vars(store)["Seal"] = seal
    try:
        with (
            tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder,
            whole.on(Engine, "_keep"),
            inserting.on(store.Store, "insert"),
            run_campaign(task, policy, out=f"{folder}/campaign", **how) as found,
        ):
            records = len(found)
    finally:
        vars(store)["Seal"] = sealed
    return {
        "whole": 1e6 * whole.seconds / records,
        "inserting": 1e6 * inserting.seconds / records,
        "milliseconds a unit": 1e3 * whole.seconds / whole.calls,
        "records a unit": records / whole.calls,
    }


def measure(name: str, runs: int) -> dict[str, float]:
    (domain, sizes), *_ = CAMPAIGNS[name]
    task = load_task(generate(domain, **sizes))
    stored(task, name, Seal)  # everything is imported now
    pairs = [(stored(task, name, Seal), stored(task, name, Unsealed)) for _ in range(runs)]
    sealed, plain = (
        {key: statistics.median(row[key] for row in own) for key in own[0]}
        for own in zip(*pairs, strict=True)
    )
    return {
        "microseconds a record": round(sealed["whole"], 1),
        "of these, the digest": round(sealed["whole"] - plain["whole"], 1),
        "rows into SQLite": round(plain["inserting"], 1),
        "the rest": round(plain["whole"] - plain["inserting"], 1),
        "milliseconds a unit": round(sealed["milliseconds a unit"], 2),
        "records a unit": round(sealed["records a unit"], 1),
        "share at 1000 records/s": round(sealed["whole"] / 1000, 3),
    }


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    results: dict[str, Any] = {"load before": os.getloadavg()[0]}
    for name in CAMPAIGNS:
        results[name] = measure(name, runs)
    report("storing", results)


if __name__ == "__main__":
    main()
