"""Every bias and every oracle on competition tasks: pool, bugs and time.

Each bias makes one pool a task; each oracle tests all of them, on a bound store of its own, so that none profits
from another. Seconds are processor time. A bug counts once, whatever its kind.

python -m benchmarks.classical [POOL [DOMAIN...]]  prints JSON, and the tables of docs/results.md on standard error
"""

from __future__ import annotations

import sys
from collections import defaultdict
from time import process_time
from typing import Any

from benchmarks.common import remark, report
from benchmarks.ipc import competition_tasks
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.pool import Pool, whole_walk
from misstep.fuzzing.settings import BIASES, preset
from misstep.oracles.grammar import parse_oracle
from misstep.oracles.oracle import Walk
from misstep.oracles.workbench import Workbench
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task

POLICY = "heuristic:ff"
DOMAINS = ("blocks", "gripper", "satellite", "transport-opt11-strips", "visitall-opt11-strips")
ORACLES = (
    "elimination",
    "undo",
    "lookahead(1)",
    "lookahead(2)",
    "aras",
    "ehc",
    "aras/ehc",
    "gbfs(1000)",
    "astar",
    "lmcut, elimination, lookahead(2), aras/ehc",
)
Row = dict[str, float]


def make_pool(task: Task, bias: str, size: int) -> tuple[Pool, float]:
    runner = PolicyRunner(load_policy(POLICY, task))
    began = process_time()
    settings = preset("p24", bias=bias, max_states=size, patience=2000)
    return fuzz(task, runner, settings, 1), process_time() - began


def test(task: Task, pool: Pool, oracle: str) -> Row:
    runner = PolicyRunner(load_policy(POLICY, task))
    states = [entry for entry in pool if not task.is_goal(entry.state)]
    bench = Workbench(runner)
    bench.verdicts_of(entry.state for entry in states)  # the runs are the policy's time
    tester = parse_oracle(oracle, bench)
    found: Row = defaultdict(float)
    began = process_time()
    for entry in states:
        verdict = tester.test(entry.state, walk=Walk(*whole_walk(pool.entries, entry)))
        found["bugs"] += verdict.is_bug
        found["optimal"] += verdict.is_decided and not verdict.is_bug
        found["limits"] += bool(verdict.limits)
    found["seconds"] = process_time() - began
    return found


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    results: dict[str, Any] = {}
    for domain in sys.argv[2:] or DOMAINS:
        tasks = competition_tasks(domain)
        results[domain] = {}
        for bias in BIASES["2024"]:
            row: dict[str, Any] = {"pool": 0, "seconds": 0.0, "oracles": {}}
            for task in tasks:
                pool, spent = make_pool(task, bias, size)
                row["pool"] += len(pool)
                row["seconds"] += spent
                for oracle in ORACLES:
                    cell = row["oracles"].setdefault(oracle, defaultdict(float))
                    for name, value in test(task, pool, oracle).items():
                        cell[name] += value
            results[domain][bias] = row
            remark(_line(domain, bias, row))
    report("classical", _rounded(results))


def _line(domain: str, bias: str, row: dict[str, Any]) -> str:
    cells = [
        f"{cell['bugs']:.0f} ({cell['optimal']:.0f}) {cell['seconds']:.2f}"
        for cell in row["oracles"].values()
    ]
    begin = f"| {domain} | {bias} | {row['pool']} in {row['seconds']:.2f} | "
    return begin + " | ".join(cells) + " |"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
