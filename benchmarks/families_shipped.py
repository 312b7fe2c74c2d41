"""The families of bugs of the policies that come with Misstep, and of heuristic:ff: sentences and measured precision.

    python -m benchmarks.families_shipped [POOL [SECONDS]]

Each policy is tested on two tasks of its domain (pool of 60 states each), its families are found, and their
descriptions are measured on fresh states for at most so many seconds. The result is JSON on standard output; a table
in Markdown is written to standard error, a row as soon as it is known.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.common import remark, report
from misstep.campaigns.testing import test as run_campaign
from misstep.comparison.families.family import Family
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task

TASKS: dict[str, list[dict[str, int]]] = {
    "blocksworld": [{"blocks": 5}, {"blocks": 6}],
    "ferry": [{"cars": 4, "locations": 4}, {"cars": 5, "locations": 4}],
    "gripper": [{"balls": 5}, {"balls": 6}],
    "transport": [{"locations": 4, "packages": 3}, {"locations": 5, "packages": 3}],
}
# Networks that were trained on small tasks have their bugs on larger ones.
LARGER: dict[str, list[dict[str, int]]] = {
    "blocksworld": [{"blocks": 6, "seed": 201}, {"blocks": 8, "seed": 200}],
    "ferry": [{"cars": 8, "locations": 6}, {"cars": 10, "locations": 6}],
    "gripper": [{"balls": 6, "scatter": 50, "seed": 2}, {"balls": 10, "scatter": 50, "seed": 2}],
    "transport": TASKS["transport"],
    "visitall": [{"width": 5, "height": 4}, {"width": 5, "height": 5}],
}
PAIRS = [(f"shipped:{name}", name, sizes) for name, sizes in LARGER.items()]
PAIRS += [("heuristic:ff", name, sizes) for name, sizes in TASKS.items()]


def row(
    policy: str, domain: str, sizes: list[dict[str, int]], pool: int, seconds: float
) -> dict[str, Any]:
    tasks = []
    for number, own in enumerate(sizes):
        task = load_task(generate(domain, **{"seed": 1, **own}))
        task.name = f"p{number}"
        tasks.append(task)
    campaign = run_campaign(tasks, policy, pool=pool, seed=0)
    families = campaign.measure_families(states=100, time_limit=seconds)
    remark(
        f"\n**{policy} on {domain}**: {len(campaign.bugs)} bugs, {len(families)} families, "
        f"{sum(not bug.faults for bug in campaign.bugs)} bugs without a proven fault"
    )
    for family in families:
        remark(f"| {family.sentence} | {_precision(family)} |")
    return {
        "states": len(campaign),
        "bugs": len(campaign.bugs),
        "without proven fault": sum(not record.faults for record in campaign.bugs),
        "families": [
            {"sentence": own.sentence, "measured": own.measured and own.measured.as_dict()}
            for own in families
        ],
    }


def _precision(family: Family) -> str:
    own = family.measured
    if own is None:
        return "no description to measure"
    if own.share is None:
        return str(own)
    undecided = f", {own.undecided} undecided" if own.undecided else ""
    return f"{own.share:.0%} of {own.same + own.other} [{own.low:.0%}, {own.high:.0%}]{undecided}"


def main() -> None:
    pool = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    results = {
        f"{policy} on {domain}": row(policy, domain, sizes, pool, seconds)
        for policy, domain, sizes in PAIRS
    }
    report("families_shipped", results)


if __name__ == "__main__":
    main()
