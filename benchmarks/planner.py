"""Searches against the Fast Downward search binary: same SAS file, same machine, taking turns.

python -m benchmarks.planner [SECONDS]
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.common import TASKS, alternate, benchmark_task, remark, report
from misstep.planning import SEARCHES, plan
from misstep.tasks.task import Task

RUNS = 5
# Our search, Fast Downward's, and what is counted per second.
PAIRS = {
    "blind": ("astar-blind", "astar(blind(), max_time={s})", "expansions", "Expanded"),
    "lmcut": ("astar-lmcut", "astar(lmcut(), max_time={s})", "evaluations", "Evaluated"),
    "ff": ("gbfs-ff", "eager_greedy([ff()], bound={b}, max_time={s})", "evaluations", "Evaluated"),
}


def downward() -> Path:
    package = importlib.util.find_spec("up_fast_downward")
    if package is None or package.origin is None:
        sys.exit("up-fast-downward is needed: pip install 'misstep[bench]'")
    return Path(package.origin).parent / "downward/builds/release/bin/downward"


def unreachable_bound(task: Task) -> int:
    """A cost below which there is no plan: greedy search would otherwise be over before it can be timed."""
    bound = plan(task, "astar-lmcut", time_limit=3).lower_bound
    assert bound is not None
    return bound


def our_rate(task: Task, search: str, counted: str, bound: int | None, seconds: float) -> float:
    engine = SEARCHES[search].build(task, task.initial_state, bound)
    # Processor time, as Fast Downward reports it: other work on the machine does not count.
    began = process_time()
    result = engine.run(seconds=seconds)
    return float(getattr(result, counted) / (process_time() - began))


def their_rate(
    binary: Path, file: Path, search: str, counted: str, bound: int, seconds: float
) -> float:
    command = [str(binary), "--search", search.format(s=seconds, b=bound)]
    with file.open() as task, tempfile.TemporaryDirectory() as folder:
        log = subprocess.run(command, stdin=task, capture_output=True, text=True, cwd=folder).stdout
    count = int(re.findall(rf"{counted} (\d+) state", log)[-1])
    spent = float(re.findall(r"Search time: ([\d.e-]+)s", log)[-1])
    return count / max(spent, 1e-6)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    binary = downward()
    results: dict[str, Any] = {}
    for name in TASKS:
        task = benchmark_task(name)
        file = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / "task.sas"
        file.write_bytes(task.sas)
        bound = unreachable_bound(task)
        for kind, (ours, theirs, counted, word) in PAIRS.items():
            own_bound = bound if kind == "ff" else None
            rates = alternate(
                RUNS,
                partial(our_rate, task, ours, counted, own_bound, seconds),
                partial(their_rate, binary, file, theirs, word, bound, seconds),
            )
            ratio = rates[0] / rates[1]
            remark(f"{name:16} {kind:6} {rates[0]:12,.0f} {rates[1]:12,.0f} /s  {ratio:5.2f}x")
            results[f"{name} {kind}"] = {
                "operators": task.operator_count,
                "counted": counted,
                "ours_per_second": round(rates[0]),
                "fast_downward_per_second": round(rates[1]),
                "ratio": round(ratio, 2),
            }
    report("planner", results)


if __name__ == "__main__":
    main()
