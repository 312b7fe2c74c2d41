"""How small bugs get, and how long that takes: objects and plan lengths before and after, in five domains.

python -m benchmarks.shrinking                  ten bugs in each domain
python -m benchmarks.shrinking --bugs 2 --domain ferry --jobs 2

Every small task is replayed by the independent checker and has the family of the bug. Prints JSON; the table goes to
standard error.
"""

from __future__ import annotations

import argparse
import os
import statistics
from time import perf_counter
from typing import Any

import misstep
from benchmarks.common import remark, report
from misstep.comparison.shrink.api import in_order
from misstep.errors import UndecidedError

TASKS: list[tuple[str, dict[str, int], str]] = [
    ("gripper", {"balls": 8}, "heuristic:ff"),
    ("blocksworld", {"blocks": 8}, "heuristic:ff"),
    ("ferry", {"cars": 6, "locations": 4}, "heuristic:ff"),
    ("visitall", {"width": 4, "height": 4}, "heuristic:ff"),
    ("transport", {"vehicles": 2, "packages": 4, "locations": 6}, "heuristic:ff"),
]
POOL = 60


def measure(domain: str, sizes: dict[str, int], policy: str, bugs: int, jobs: int) -> list[Any]:
    task = misstep.load_task(misstep.generate(domain, **sizes))
    campaign = misstep.test(task, policy, pool=POOL)
    rows: list[Any] = []
    for bug in in_order(campaign.bugs):
        if len(rows) == bugs:
            break
        began, before = perf_counter(), sum(os.times()[:4])
        try:
            shrunk = campaign.shrink(bug, jobs=jobs)
        except UndecidedError as error:
            remark(str(error))
            continue
        seconds, processor = perf_counter() - began, sum(os.times()[:4]) - before
        if not shrunk.campaign.replay().ok or bug.family not in (None, shrunk.record.family):
            raise SystemExit(f"{bug.id}: the small task does not show the bug")
        note = shrunk.note
        rows.append(
            {
                "domain": domain,
                "bug": bug.id,
                "kind": bug.kind,
                "family": bug.family,
                "before": note.before.as_dict(),
                "after": note.after.as_dict(),
                "legal": note.legal,
                "minimal": note.minimal,
                "reason": note.reason,
                "effort": note.effort.as_dict(),
                "seconds": round(seconds, 2),
                "processor": round(processor, 2),  # of this process and of the translators
            }
        )
        remark(f"{shrunk}; {seconds:.1f} s, {processor:.1f} s of a processor")
    return rows


def row_of(domain: str, rows: list[Any]) -> str:
    """A line of the table."""

    def middle(side: str, name: str) -> str:
        numbers = [row[side][name] for row in rows if row[side][name] is not None]
        return f"{statistics.median(numbers):g}" if numbers else "-"

    objects, plans = (
        f"{middle('before', name)} -> {middle('after', name)}" for name in ("objects", "plan")
    )
    seconds = statistics.median(row["seconds"] for row in rows)
    processor = statistics.median(row["processor"] for row in rows)
    minimal = sum(row["minimal"] for row in rows)
    share = sum(row["effort"]["avoided"] for row in rows) / max(
        1, sum(row["effort"]["candidates"] for row in rows)
    )
    sizes = f"{objects:<12} {plans:<12}"
    times = f"{seconds:>7.1f} {processor:>9.1f} {share:>14.0%}"
    return f"{domain:<12} {len(rows):>4} {minimal:>7}  {sizes} {times}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bugs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--domain")
    given = parser.parse_args()
    rows: list[Any] = []
    lines = [
        "domain       bugs minimal  objects      plan         seconds processor no translation"
    ]
    for domain, sizes, policy in TASKS:
        if given.domain in (None, domain):
            own = measure(domain, sizes, policy, given.bugs, given.jobs)
            rows += own
            lines.append(row_of(domain, own))
    lines.append(row_of("all", rows))
    remark("\n".join(lines))
    report("shrinking", {"bugs": rows})


if __name__ == "__main__":
    main()
