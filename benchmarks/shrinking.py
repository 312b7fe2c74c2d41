"""How small bugs get, and how long that takes: objects and plan lengths before and after, in five domains.

    python benchmarks/shrinking.py [--bugs 10] [--jobs 1] [-o FILE]

Prints a table and writes JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import misstep
from misstep.comparison.shrink.api import in_order

TASKS: list[tuple[str, dict[str, int], str]] = [
    ("gripper", {"balls": 8}, "heuristic:ff"),
    ("blocksworld", {"blocks": 8}, "heuristic:ff"),
    ("ferry", {"cars": 6, "locations": 4}, "heuristic:ff"),
    ("visitall", {"width": 4, "height": 4}, "heuristic:ff"),
    ("transport", {"vehicles": 2, "packages": 4, "locations": 6}, "heuristic:ff"),
]


def measure(domain: str, sizes: dict[str, int], policy: str, bugs: int, jobs: int) -> list[Any]:
    task = misstep.load_task(misstep.generate(domain, **sizes))
    campaign = misstep.test(task, policy, pool=60)
    rows = []
    for bug in in_order(campaign.bugs)[:bugs]:
        began = perf_counter()
        shrunk = campaign.shrink(bug, jobs=jobs)
        seconds = perf_counter() - began
        assert shrunk.campaign.replay().ok
        assert bug.family is None or shrunk.record.family == bug.family
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
            }
        )
        print(f"{shrunk}; {seconds:.1f} s", file=sys.stderr, flush=True)
    return rows


def median(rows: list[Any], side: str, name: str) -> str:
    numbers = [row[side][name] for row in rows if row[side][name] is not None]
    return f"{statistics.median(numbers):g}" if numbers else "-"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bugs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--domain")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    rows: list[Any] = []
    print("domain       bugs minimal  objects      plan         seconds  no translation")
    for domain, sizes, policy in TASKS:
        if given.domain not in (None, domain):
            continue
        own = measure(domain, sizes, policy, given.bugs, given.jobs)
        rows += own
        tried = sum(row["effort"]["candidates"] for row in own)
        avoided = sum(row["effort"]["avoided"] for row in own)
        objects, plans = (
            f"{median(own, 'before', name)} -> {median(own, 'after', name)}"
            for name in ("objects", "plan")
        )
        seconds = statistics.median(row["seconds"] for row in own)
        minimal = sum(row["minimal"] for row in own)
        share = avoided / max(1, tried)
        print(
            f"{domain:<12} {len(own):>4} {minimal:>7}  {objects:<12} {plans:<12} {seconds:>7.1f} {share:>14.0%}",
            flush=True,
        )
    if rows:
        print(f"median seconds a bug: {statistics.median(row['seconds'] for row in rows):.1f}")
    if given.output is not None:
        given.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
