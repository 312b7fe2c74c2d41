"""The scheduler of campaigns on more machines than we have: a simulation with measured costs.

python -m benchmarks.scaling [--quick] [--tables]    (--tables: as docs/scaling.md shows them, in place of JSON)

First a campaign of each world is run on a small cluster here, which tells what units cost, and what processor time the
coordinator pays for each: to pack it, hand it out and take its result (`send`), and to store it (`store`). Then the
engine's rules are played with 10, 100 and 1,000 workers: tasks have stages of rounds, a round ends when all its units
are stored, tasks begin when a worker would be idle, long tasks first. The coordinator does one thing at a time. Workers
are lost at random and come back; what they worked on begins again elsewhere. Some workers are stragglers, which take
several times as long for everything. Where second copies are played, a unit that has taken three times what its task
makes one expect is given to a second worker, the first answer counts, and the other process is ended. All is played
with several seeds: which workers the hardest task meets is luck.

Nothing of dask is simulated but the delay between a worker and the coordinator, so what comes out is a bound on what a
cluster can do, and shows what limits it first.
"""

from __future__ import annotations

import heapq
import random
import statistics
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import process_time, thread_time
from typing import Any

from benchmarks.common import report
from misstep.campaigns.cluster.local import LocalCluster
from misstep.campaigns.engine import Engine
from misstep.campaigns.store import Store
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task

DELAY = 0.01  # seconds from the coordinator to a worker and back, by way of the scheduler
AHEAD = 2  # units that are under way for each worker
OVERDUE = 3.0  # times what is expected of a unit, before a second worker gets it
CHUNKS = 4  # units of a round
SECONDS = 2.0  # of a unit on average, as hard tasks have them: measured costs are scaled to that
MEASURED: dict[str, tuple[tuple[str, dict[str, int]], str, dict[str, Any]]] = {
    "planning": (
        ("blocksworld", {"blocks": 7}),
        "noisy:0.2:1+heuristic:ff",
        {"pool": 300, "oracle": "bmo(10), bmo(20)+aras/ehc", "max_steps": 100},
    ),
    "model": (
        ("two-way-line", {"cells": 12, "packages": 3, "vmax": 3}),
        "random:3",
        {"runs": 10_000, "radius": 1},
    ),
}


@dataclass(frozen=True)
class Costs:
    """Measured here, in seconds."""

    units: tuple[float, ...]  # that judge, on a worker
    send: float  # for each unit, by the coordinator
    store: float  # for each unit
    records: float  # for each unit


@dataclass(frozen=True)
class Cluster:
    workers: int
    lost_each_hour: float = 0.0  # of each worker
    back: float = 60.0  # seconds until a lost worker is replaced
    stragglers: float = 0.0  # share of the workers
    slower: float = 5.0
    copies: bool = False  # whether a unit that is overdue is given to a second worker


@dataclass(frozen=True)
class Suite:
    """Tasks of different hardness: a task has rounds, and its units take `scale` times what was measured."""

    tasks: int
    rounds: int
    spread: float = 1.0  # of the logarithm of the hardness
    unit_scale: float = 1.0


@dataclass
class _Task:
    name: int
    scale: float
    rounds: int
    waiting: int = 0
    open: int = 0  # units of the round that are not stored
    settling: bool = False


@dataclass(eq=False)
class _Unit:
    task: _Task
    cost: float
    done: bool = False
    copies: int = 0  # beyond the first
    holders: list[int] = field(default_factory=list)  # workers


@dataclass
class Outcome:
    seconds: float = 0.0
    busy: float = 0.0  # of all workers
    coordinator: float = 0.0
    units: int = 0
    again: int = 0  # units that were begun more than once because a worker was lost
    copies: int = 0  # second copies of units that were overdue


class Play:
    """One campaign, event by event."""

    def __init__(
        self, costs: Costs, cluster: Cluster, suite: Suite, long_first: bool, seed: int
    ) -> None:
        self.costs, self.cluster, self.chance = costs, cluster, random.Random(seed)
        scales = [
            suite.unit_scale * self.chance.lognormvariate(0, suite.spread)
            for _ in range(suite.tasks)
        ]
        order = sorted(scales, reverse=True) if long_first else scales
        self.left = deque(_Task(n, scale, suite.rounds) for n, scale in enumerate(order))
        self.active = 0
        self.waiting: list[tuple[float, int, _Task]] = []  # tasks with units to hand out, a heap
        self.long_first = long_first
        self.speed = [
            cluster.slower if self.chance.random() < cluster.stragglers else 1.0
            for _ in range(cluster.workers)
        ]
        self.expected = statistics.mean(costs.units)
        # Whoever waits longest is next, as dask deals work out to idle workers in turn.
        self.free = deque(range(cluster.workers))
        self.held: dict[int, _Unit] = {}  # what a worker works on
        self.life = [
            0
        ] * cluster.workers  # counts losses, so that what was under way is known to be lost
        self.queue: deque[_Unit] = deque()  # handed out, and nobody works on it yet
        self.under_way = 0
        self.events: list[tuple[float, int, str, Any]] = []
        self.number = 0
        self.now = self.coordinator_free = 0.0
        self.outcome = Outcome()

    def at(self, time: float, what: str, about: Any) -> None:
        self.number += 1
        heapq.heappush(self.events, (time, self.number, what, about))

    def coordinate(self, seconds: float) -> float:
        """The coordinator does something when it has time; when it is done."""
        self.coordinator_free = max(self.coordinator_free, self.now) + seconds
        self.outcome.coordinator += seconds
        return self.coordinator_free

    def run(self) -> Outcome:
        for worker in range(self.cluster.workers):
            self._next_loss(worker)
        self._hand_out()
        while self.active or self.left:
            self.now, _, what, about = heapq.heappop(self.events)
            getattr(self, f"_{what}")(*about)
        self.outcome.seconds = max(self.now, self.coordinator_free)
        return self.outcome

    # -- the coordinator --------------------------------------------------------------------------

    def _hand_out(self) -> None:
        most = AHEAD * self.cluster.workers
        while self.under_way < most:
            if not self.waiting:
                if not self.left:
                    return
                task = self.left.popleft()
                self.active += 1
                self._begin_round(task)
                continue
            _, _, task = self.waiting[0]
            task.waiting -= 1
            if not task.waiting:
                heapq.heappop(self.waiting)
            self.under_way += 1
            done = self.coordinate(self.costs.send)
            self.at(done + DELAY / 2, "arrive", (task, self._cost(task)))

    def _begin_round(self, task: _Task) -> None:
        count = 1 if task.settling else CHUNKS
        task.waiting = task.open = count
        self.number += 1
        first = -task.scale * task.rounds if self.long_first else self.number
        heapq.heappush(self.waiting, (first, self.number, task))

    def _cost(self, task: _Task) -> float:
        return task.scale * self.chance.choice(self.costs.units)

    def _stored(self, task: _Task) -> None:
        self.outcome.units += 1
        task.open -= 1
        if not task.open:
            if task.settling:
                task.rounds -= 1
            task.settling = not task.settling
            if task.rounds:
                self._begin_round(task)
            else:
                self.active -= 1
        self._hand_out()

    # -- workers ----------------------------------------------------------------------------------

    def _arrive(self, task: _Task, cost: float) -> None:
        self.queue.append(_Unit(task, cost))
        self._work()

    def _work(self) -> None:
        while self.queue and self.free:
            unit = self.queue.popleft()
            if unit.done:
                continue  # a copy that nobody needs any more
            worker = self.free.popleft()
            seconds = unit.cost * self.speed[worker]
            unit.holders.append(worker)
            self.held[worker] = unit
            self.at(self.now + seconds, "done", (worker, self.life[worker], unit, self.now))
            if self.cluster.copies and not unit.copies:
                patience = OVERDUE * self.expected * unit.task.scale
                if seconds > patience:  # else it will have ended by then
                    self.at(self.now + patience, "overdue", (unit,))

    def _overdue(self, unit: _Unit) -> None:
        if unit.done or unit.copies or not unit.holders:
            return
        unit.copies = 1
        self.outcome.copies += 1
        self.coordinate(self.costs.send)
        self.queue.append(unit)
        self._work()

    def _done(self, worker: int, life: int, unit: _Unit, began: float) -> None:
        if life != self.life[worker]:
            return  # it was lost before, or another worker was faster
        unit.done = True
        self.outcome.busy += self.now - began
        for holder in unit.holders:
            self.life[holder] += holder != worker  # what it does comes to nothing
            self.held.pop(holder)
            self.free.append(holder)
        self.under_way -= 1
        self.at(self.coordinate(self.costs.store) + DELAY / 2, "stored", (unit.task,))
        self._work()

    def _next_loss(self, worker: int) -> None:
        rate = self.cluster.lost_each_hour / 3600
        if rate:
            self.at(self.now + self.chance.expovariate(rate), "lost", (worker,))

    def _lost(self, worker: int) -> None:
        self.life[worker] += 1
        unit = self.held.pop(worker, None)
        if unit is not None:
            unit.holders.remove(worker)
            if not unit.holders:
                self.outcome.again += 1
                self.queue.appendleft(unit)
        elif worker in self.free:
            self.free.remove(worker)
        self.at(self.now + self.cluster.back, "back", (worker,))
        self._work()

    def _back(self, worker: int) -> None:
        self.free.append(worker)
        self._next_loss(worker)
        self._work()


def measure(name: str, address: str) -> Costs:
    """What units cost: their own seconds on workers, and processor time of the coordinator, all its threads."""
    (domain, sizes), policy, how = MEASURED[name]
    task = load_task(generate(domain, **sizes))
    keep, commit, spent = Engine._keep, Store.commit, [0.0, 0]

    def timed(engine: Engine, *given: Any) -> None:
        began = thread_time()
        keep(engine, *given)
        spent[0] += thread_time() - began
        spent[1] += 1

    def timed_commit(store: Store) -> None:
        began = thread_time()
        commit(store)
        spent[0] += thread_time() - began

    Engine._keep = timed  # type: ignore[method-assign, assignment]
    Store.commit = timed_commit  # type: ignore[method-assign, assignment]
    try:
        run_campaign(task, policy, cluster=address, **how).close()  # everything is imported now
        spent[:] = [0.0, 0]
        began = process_time()
        with run_campaign(task, policy, cluster=address, **how) as found:
            whole = process_time() - began
            stage = "judge%"
            query = "SELECT seconds FROM units WHERE stage LIKE ? AND seconds > 0"
            units = _typical([seconds for (seconds,) in found._store.rows(query, stage)])
            records = len(found)
    finally:
        Engine._keep = keep  # type: ignore[method-assign]
        Store.commit = commit  # type: ignore[method-assign]
    store, count = spent
    return Costs(units, (whole - store) / count, store / count, records / count)


def _typical(seconds: list[float]) -> tuple[float, ...]:
    """Without the slowest tenth: a machine that others use stops a process now and then."""
    return tuple(sorted(seconds)[: max(1, len(seconds) * 9 // 10)])


SUITES = {
    "even": Suite(2, 10, spread=0.25),
    "uneven": Suite(2, 10, spread=1.0),
}  # tasks are for each worker
SLOW = {"stragglers": 0.05}
CLUSTERS: dict[str, dict[str, Any]] = {
    "as it should be": {},
    "each worker lost twice an hour": {"lost_each_hour": 2.0},
    "5 % of the workers 5 times slower": SLOW,
    "the same, with second copies": {**SLOW, "copies": True},
}
SEEDS = {10: 8, 100: 5, 1000: 2}


def table(costs: Costs, quick: bool) -> list[dict[str, Any]]:
    rows = []
    scale = SECONDS / statistics.mean(costs.units)
    for kind, each in SUITES.items():
        for workers in (10, 100) if quick else (10, 100, 1000):
            suite = replace(each, tasks=each.tasks * workers, unit_scale=scale)
            for label, trouble in CLUSTERS.items():
                about = {"suite": kind, "workers": workers, "cluster": label}
                rows.append({**about, **_row(Cluster(workers, **trouble), suite, costs)})
    return rows


def _row(cluster: Cluster, suite: Suite, costs: Costs) -> dict[str, Any]:
    """Medians of several seeds, of both orders; the pairs of one seed have the same tasks and the same workers."""
    seeds = range(1, SEEDS[cluster.workers] + 1)
    alone = [_path(Play(costs, cluster, suite, True, seed), suite) for seed in seeds]
    found = {
        order: [Play(costs, cluster, suite, order, n).run() for n in seeds]
        for order in (True, False)
    }
    long, given = found[True], found[False]
    return {
        "long first": _spread([own.seconds for own in long]),
        "as given": _spread([own.seconds for own in given]),
        "long first is faster": sum(
            a.seconds < b.seconds for a, b in zip(long, given, strict=True)
        ),
        "seeds": len(seeds),
        "hardest task alone": round(statistics.median(alone)),
        "workers busy": _middle([own.busy / (cluster.workers * own.seconds) for own in long]),
        "coordinator busy": _middle([own.coordinator / own.seconds for own in long]),
        "units": long[0].units,
        "units again": _middle([own.again / own.units for own in long], 4),
        "second copies": _middle([own.copies / own.units for own in long], 4),
    }


def _path(play: Play, suite: Suite) -> float:
    """Rounds follow each other: the longest of four units, then one that settles the round."""
    chance, units = random.Random(2), play.costs.units
    draws = [[chance.choice(units) for _ in range(CHUNKS + 1)] for _ in range(200)]
    rounds = statistics.mean(max(own[1:]) + own[0] for own in draws)
    return suite.rounds * max(task.scale for task in play.left) * rounds


def _spread(values: list[float]) -> list[int]:
    return [round(own) for own in (statistics.median(values), min(values), max(values))]


def _middle(values: list[float], digits: int = 3) -> float:
    return round(statistics.median(values), digits)


def as_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """For the page."""
    yield "| suite | workers | cluster | long first, s | as given, s | long first wins | hardest task alone, s | busy |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        spans = ["{:,} ({:,} to {:,})".format(*row[order]) for order in ("long first", "as given")]
        wins = f"{row['long first is faster']} of {row['seeds']}"
        busy = f"{row['workers busy']:.0%}, {row['coordinator busy']:.0%}".replace("%", " %")
        cells = [row["suite"], f"{row['workers']:,}", row["cluster"], *spans, wins]
        yield f"| {' | '.join(cells)} | {row['hardest task alone']:,} | {busy} |"


def limits(costs: Costs) -> dict[str, float]:
    """What one coordinator takes when workers are never the limit."""
    each = costs.send + costs.store
    return {
        "send ms": round(1000 * costs.send, 3),
        "store ms": round(1000 * costs.store, 3),
        "units/s": round(1 / each, 1),
        "records/s": round(costs.records / each, 1),
        "records/s of the store alone": round(costs.records / costs.store, 1),
        "mean unit ms here": round(1000 * statistics.mean(costs.units), 2),
        "workers kept busy": round(SECONDS / each),
    }


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    results: dict[str, Any] = {}
    cluster = LocalCluster(2)
    try:
        measured = {name: measure(name, cluster.address) for name in MEASURED}
    finally:
        cluster.close()
    for name, costs in measured.items():
        results[name] = {"coordinator": limits(costs), "play": table(costs, quick)}
    if "--tables" not in arguments:
        report("scaling", results)
        return
    for name, found in results.items():
        print(f"\n{name}: {found['coordinator']}\n")
        print("\n".join(as_table(found["play"])))


if __name__ == "__main__":
    main(sys.argv[1:])
