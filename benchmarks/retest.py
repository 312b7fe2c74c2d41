"""A retest against a fresh test of the same states: what witnesses save.

    python -m benchmarks.retest [STATES]

A campaign of that many states is made once. Then the same policy, which is the worst case for the number of bugs, and
another one are tested again with its witnesses, and tested afresh on the same states (`--pool-from`). Seconds are those
of this process' processors, as other work on the machine says nothing about either. `states a second` counts the whole
call: reading the old campaign, running, checking witnesses, writing, and counting what became of the states. The
`command` is `misstep retest` as users type it, with its start and what it prints: at most 5 s by the clock for 10,000
states on a quiet machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import Any

import misstep
from benchmarks.common import remark, report
from misstep.comparison.retest import retest
from misstep.oracles.presets import DEFAULT_ORACLE
from misstep.tasks.generate import generate

STATES = 10_000
ORACLE = DEFAULT_ORACLE
TASKS: dict[str, tuple[str, dict[str, int], str, str]] = {
    "gripper": ("gripper", {"balls": 8}, "heuristic:ff", "noisy:0.1:1+heuristic:ff"),
    "blocksworld": ("blocksworld", {"blocks": 8}, "heuristic:ff", "heuristic:add"),
}


def command(folder: Path, policy: str) -> dict[str, float]:
    """Seconds of a program of its own, by the clock and of its processors."""
    words = ["retest", str(folder / "before"), "--policy", policy, "--json"]
    began, used = perf_counter(), getrusage(RUSAGE_CHILDREN)
    made = subprocess.run([sys.executable, "-m", "misstep", *words], capture_output=True)
    wall, after = perf_counter() - began, getrusage(RUSAGE_CHILDREN)
    if made.returncode not in (0, 1):
        raise SystemExit(made.stderr.decode())
    spent = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return {"wall seconds": round(wall, 2), "seconds": round(spent, 2)}


def measured(domain: str, sizes: dict[str, int], old: str, new: str, states: int) -> Any:
    task = misstep.load_task(generate(domain, **sizes))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        before = misstep.test(
            task,
            old,
            pool=states,
            oracle=ORACLE,
            fuzz="none",
            fault_budget="none",
            out=Path(folder) / "before",
        )
        for name, policy in (("unchanged", old), ("changed", new)):
            began, used = perf_counter(), process_time()
            found = retest(before, policy, out=Path(folder) / name)
            counts = {word: count for word, count in found.counts.items() if count}
            spent = process_time() - used
            results[name] = {
                "seconds": round(spent, 2),
                "wall seconds": round(perf_counter() - began, 2),
                "states a second": round(len(found.outline) / spent),
                "by oracles": found.by_oracles,
                "counts": counts,
                "stages": found.campaign.summary.seconds,
            }
            used = process_time()
            fresh = misstep.test(
                None,
                policy,
                pool_from=before,
                oracle=ORACLE,
                fault_budget="none",
                out=Path(folder) / f"{name} afresh",
            )
            again = process_time() - used
            results[name]["seconds of a fresh test"] = round(again, 2)
            results[name]["ratio"] = round(again / spent, 1)
            results[name]["command"] = command(Path(folder), policy)
            results[name]["bugs of a fresh test"] = fresh.summary.bugs["total"]
            results[name]["bugs"] = len(found.bugs)
            remark(f"{domain}, {name}: {results[name]}")
    return {"states": len(found.outline), **results}


def main(states: int = STATES) -> None:
    results = {name: measured(*task, states) for name, task in TASKS.items()}
    report("retest", results)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
