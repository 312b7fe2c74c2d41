"""What storing takes of a campaign: processor time of the coordinator for each record, and where it goes.

python -m benchmarks.storing [RUNS] [--against SOURCE]

Campaigns of cheap units are computed once. Their results are then stored again and again, each time by an engine that
takes them for those of its own worker, into a new folder: so nothing but storing is timed, and all runs store the same.
The processor time in which results are stored is taken in turns with and without the digest of the records. A thousand
records a second take of each second a thousand times what a record takes.

The floor is what SQLite takes to insert the rows that the campaign has in the end, a table at a time, in one
transaction, with its keys checked and without a digest.

SOURCE is the folder `src` of another version, with its native module, to be measured in turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

from benchmarks.common import report
from benchmarks.sealing import Unsealed
from misstep.campaigns import store
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.engine import Engine
from misstep.campaigns.schema import create_tables
from misstep.campaigns.seal import Seal
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.units import Unit
from misstep.campaigns.workers import Outcome, Worker
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
TURNS = 2  # of the versions that are compared
# Rows refer to rows of tables before their own.
TABLES = ("tasks", "runs", "states", "strategies", "verdicts", "faults", "units")


class Clock:
    """Adds up the processor time of all calls of some methods; one inside another counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._is_running = False

    @contextmanager
    def on(self, owner: type, name: str) -> Iterator[None]:
        method = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> object:
            if self._is_running:
                return method(*given, **named)
            self._is_running, began = True, thread_time()
            try:
                return method(*given, **named)
            finally:
                self.seconds += thread_time() - began
                self.calls += 1
                self._is_running = False

        setattr(owner, name, timed)
        try:
            yield
        finally:
            setattr(owner, name, method)


class Known:
    """Results of units by their names: computed when they are asked for first, handed out from then on."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str, str], Outcome] = {}
        self._do = Worker.do

    @contextmanager
    def handed_out(self) -> Iterator[None]:
        def do(worker: Worker, unit: Unit, seconds: float | None = None) -> Outcome:
            name = unit.task, unit.stage, unit.key
            if name not in self._outcomes:
                self._outcomes[name] = self._do(worker, unit, seconds)
            return self._outcomes[name]

        Worker.do = do  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Worker.do = self._do  # type: ignore[method-assign]


def stored(
    task: AnyTask, name: str, known: Known, seal: type, look: Callable[[Campaign], object]
) -> dict[str, float]:
    """Microseconds for each record."""
    _, policy, how = CAMPAIGNS[name]
    sealed, keeping, committing = Seal, Clock(), Clock()
    vars(store)["Seal"] = seal
    try:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="misstep-bench-"))
            stack.enter_context(known.handed_out())
            stack.enter_context(keeping.on(Engine, "_keep"))
            if hasattr(
                store.Store, "commit"
            ):  # where units share a transaction, it is not part of the keeping
                stack.enter_context(committing.on(store.Store, "commit"))
            found = stack.enter_context(run_campaign(task, policy, out=f"{folder}/campaign", **how))
            records = len(found)
            look(found)
    finally:
        vars(store)["Seal"] = sealed
    return {
        "whole": 1e6 * (keeping.seconds + committing.seconds) / records,
        "commits": 1e6 * committing.seconds / records,
        "units": keeping.calls,
        "transactions": committing.calls or keeping.calls,
        "records": records,
    }


def floor(rows: dict[str, list[tuple[Any, ...]]], records: int) -> float:
    """Microseconds for each record, the least of several."""
    times = []
    for _ in range(5):
        with tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder:
            connection = sqlite3.connect(f"{folder}/run.db", isolation_level=None)
            create_tables(connection)
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {pragma}")
            began = thread_time()
            connection.execute("BEGIN IMMEDIATE")
            for table, own in rows.items():
                marks = ", ".join("?" * len(own[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", own)
            connection.execute("COMMIT")
            times.append(thread_time() - began)
            connection.close()
    return 1e6 * min(times) / records


def measure(name: str, runs: int) -> dict[str, Any]:
    (domain, sizes), *_ = CAMPAIGNS[name]
    task = load_task(generate(domain, **sizes))
    known, rows = Known(), {}

    def look(found: Campaign) -> None:
        for table in TABLES:
            if own := found._store.rows(f"SELECT * FROM {table}"):
                rows[table] = own

    def nothing(_: Campaign) -> None:
        pass

    stored(task, name, known, Seal, look)  # everything is imported and known now
    pairs = [
        tuple(stored(task, name, known, seal, nothing) for seal in (Seal, Unsealed))
        for _ in range(runs)
    ]
    sealed, plain = (
        {key: statistics.median(row[key] for row in own) for key in own[0]}
        for own in zip(*pairs, strict=True)
    )
    least = min(row["whole"] for row, _ in pairs)
    records = int(sealed["records"])
    return {
        "microseconds a record": round(sealed["whole"], 1),
        "the least": round(least, 1),
        "of these, the digest": round(sealed["whole"] - plain["whole"], 1),
        "commits, without the digest": round(plain["commits"], 1),
        "rows, checks and Python": round(plain["whole"] - plain["commits"], 1),
        "floor: rows into SQLite at once": round(floor(rows, records), 1),
        "records": records,
        "rows": sum(map(len, rows.values())),
        "units": int(sealed["units"]),
        "transactions": int(sealed["transactions"]),
        "share at 1000 records/s": round(sealed["whole"] / 1000, 3),
    }


def elsewhere(source: Path, runs: int) -> dict[str, Any]:
    """The same of another version, in a process of its own."""
    here = str(Path(__file__).resolve().parents[1])
    paths = os.pathsep.join([str(source), here])
    command = [sys.executable, "-m", "benchmarks.storing", str(runs)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)["results"]
    return found


def _middle(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Of several measurements of the same, number by number."""
    return {
        key: _middle([part[key] for part in parts])
        if isinstance(parts[0][key], dict)
        else round(statistics.median(part[key] for part in parts), 3)
        for key in parts[0]
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=int, nargs="?", default=5)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    if given.against is None:
        results: dict[str, Any] = {"load before": round(os.getloadavg()[0], 1)}
        report("storing", {**results, **{name: measure(name, given.runs) for name in CAMPAIGNS}})
        return
    ours = Path(store.__file__).resolve().parents[2]
    both = {"before": given.against.resolve(), "now": ours}
    found = [
        {label: elsewhere(source, given.runs) for label, source in both.items()}
        for _ in range(TURNS)
    ]
    report("storing", {label: _middle([turn[label] for turn in found]) for label in both})


if __name__ == "__main__":
    main()
