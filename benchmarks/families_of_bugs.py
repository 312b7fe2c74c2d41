"""How long it takes to describe a thousand faults.

    python -m benchmarks.families_of_bugs [FAULTS]

Campaigns of a noisy policy on two tasks of a domain give faults and proven-good decisions; the records are those of
real campaigns. Only the finding of families is timed (no policy is asked): from records to sentences, processor time,
the best of three. `per 1000` scales the time to a thousand faults where a campaign has found fewer.
The result is JSON on standard output.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.common import remark, report
from misstep.campaigns.testing import test as run_campaign
from misstep.comparison.families.decisions import faulty_decisions, good_decisions
from misstep.comparison.families.find import find_families
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task

POLICY = "noisy:0.5:1+heuristic:ff"
TASKS: dict[str, list[dict[str, int]]] = {
    "gripper": [{"balls": 6}, {"balls": 8}],
    "ferry": [{"cars": 6, "locations": 5}, {"cars": 5, "locations": 6}],
    "blocksworld": [{"blocks": 6}, {"blocks": 7}],
    "transport": [{"locations": 6, "packages": 3}, {"locations": 5, "packages": 4}],
}


def timed(name: str, faults: int) -> dict[str, Any]:
    tasks = []
    for number, sizes in enumerate(TASKS[name]):
        task = load_task(generate(name, seed=1, **sizes))
        task.name = f"p{number}"
        tasks.append(task)
    pool = 100
    while True:
        campaign = run_campaign(tasks, POLICY, pool=pool, seed=0)
        found = len(faulty_decisions(campaign.records))
        if found >= faults or pool >= 1600:
            break
        pool *= 2
    records = campaign.records
    seconds = []
    for _ in range(3):
        began = time.process_time()
        families = find_families(campaign.tasks, records)
        seconds.append(time.process_time() - began)
    best = min(seconds)
    return {
        "faults": found,
        "good decisions": sum(len(good_decisions(task, records, None)) for task in tasks),
        "bugs": len(campaign.bugs),
        "families": len(families),
        "seconds": round(best, 3),
        "per 1000": round(best * 1000 / max(1, found), 3),
    }


def main() -> None:
    faults = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    results = {}
    for name in TASKS:
        results[name] = timed(name, faults)
        remark(f"{name}: {results[name]}")
    report("families_of_bugs", results)


if __name__ == "__main__":
    main()
