"""Workers of a cluster that are killed again and again: campaigns of both worlds end as they do here.

    PYTHONPATH=src:tests python -m support.storm_cluster --seconds 600 --every 10

There are three workers of dask, and every ten seconds one of them, drawn by chance, is killed by SIGKILL. Campaigns
follow each other on them until the time is up. Each one must have the records of an undisturbed run in one process, the
same sealed sums of all its rows, and the same units: nothing lost, nothing twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_campaign
from support.campaigns import told
from support.cluster import Notes, dask_workers, local_scheduler
from support.storm import CAMPAIGNS, campaign_task

WORKERS = 3


@dataclass
class Tally:
    kills: int = 0
    campaigns: int = 0
    units: int = 0
    differences: list[str] = field(default_factory=list)


class Killer(threading.Thread):
    """Kills a worker at a time, until it is told that it is over."""

    def __init__(self, pid: int, every: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.every, self.kills = pid, every, 0
        self._chance = random.Random(seed)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self.every):
            workers = dask_workers(self.pid)
            if workers:
                try:
                    os.kill(self._chance.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.kills += 1

    def stop(self) -> None:
        self._over.set()
        self.join()


def left_by(campaign: Campaign) -> dict[str, Any]:
    """All that has to be the same."""
    seal = campaign._store.rows("SELECT value FROM meta WHERE key = 'seal'")[0][0]
    return {
        "records": told(campaign),
        "finished": campaign.finished,
        "sums": {table: sums for table, sums in json.loads(seal).items() if table != "meta"},
        "units": sorted(campaign._store.rows("SELECT task, stage, key FROM units")),
    }


def storm(seconds: float, every: float, seed: int, names: list[str], place: Path) -> Tally:
    total = Tally()
    expected = {}
    for name in names:
        _, policy, how = CAMPAIGNS[name]
        with run_campaign(campaign_task(name), policy, out=place / name, **how) as found:
            expected[name] = left_by(found)
    with local_scheduler(WORKERS) as (address, pid):
        killer = Killer(pid, every, seed)
        killer.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not total.differences:
            name = names[total.campaigns % len(names)]
            _, policy, how = CAMPAIGNS[name]
            out = place / f"{name}-{total.campaigns}"
            with run_campaign(
                campaign_task(name), policy, out=out, cluster=address, progress=Notes(), **how
            ) as found:
                own = left_by(found)
                said = found.summary.remarks
            total.campaigns += 1
            total.units += len(own["units"])
            total.differences += [
                f"{name} in {out}: other {part}; {said}"
                for part in own
                if own[part] != expected[name][part]
            ]
            print(f"{killer.kills} kills, {total.campaigns} campaigns", file=sys.stderr, flush=True)
        killer.stop()
        total.kills = killer.kills
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="support.storm_cluster", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[*CAMPAIGNS])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storm-cluster-") as folder:
        total = storm(
            given.seconds, given.every, given.seed, given.only or [*CAMPAIGNS], Path(folder)
        )
    for line in total.differences:
        print(line)
    print(
        f"storm: {total.kills} workers killed, {total.campaigns} campaigns of {total.units} units, "
        f"{len(total.differences)} differences"
    )
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
