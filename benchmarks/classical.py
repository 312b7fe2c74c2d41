"""Every bias and every oracle on competition tasks: pool, bugs and time.

Each bias makes one pool a task; each oracle tests all of them, on a bound store of its own, so that none profits
from another. Seconds are processor time. A bug counts once, whatever its kind. The coverage is that of P24: bugs among
the states of pools that are cut to the size of the smallest one.

python -m benchmarks.classical [POOL [DOMAIN...]]  prints JSON, and its tables on standard error
"""

from __future__ import annotations

import sys
from collections import defaultdict
from time import process_time
from typing import Any

from benchmarks.common import remark, report
from benchmarks.ipc import competition_tasks
from misstep.campaigns.metrics import TestedPool, oracle_coverage
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.pool import Pool, whole_walk
from misstep.fuzzing.settings import BIASES, preset
from misstep.oracles.grammar import read_oracle
from misstep.oracles.oracle import Walk
from misstep.oracles.testing import TestLoop, TestState
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


def test(task: Task, pool: Pool, oracle: str) -> tuple[Row, TestedPool]:
    bench = Workbench(PolicyRunner(load_policy(POLICY, task)))
    numbers = [n for n, entry in enumerate(pool) if not task.is_goal(entry.state)]
    states = [pool.entries[n] for n in numbers]
    bench.verdicts_of(entry.state for entry in states)  # the runs are the policy's time
    loop = TestLoop(bench, read_oracle(oracle))
    found: Row = defaultdict(float)
    began = process_time()
    to_test = [TestState(own.state, Walk(*whole_walk(pool.entries, own))) for own in states]
    for _ in loop.run(to_test):
        pass
    verdicts = [own.verdict for own in loop.settle()]
    found["seconds"] = process_time() - began
    for verdict in verdicts:
        found["bugs"] += verdict.is_bug
        found["optimal"] += verdict.is_decided and not verdict.is_bug
        found["limits"] += bool(verdict.limits)
    bugs = [n for n, verdict in zip(numbers, verdicts, strict=True) if verdict.is_bug]
    return found, TestedPool(len(pool), tuple(bugs))


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    results: dict[str, Any] = {}
    for domain in sys.argv[2:] or DOMAINS:
        tasks = competition_tasks(domain)
        results[domain] = {}
        pools: dict[str, dict[str, dict[str, TestedPool]]] = {oracle: {} for oracle in ORACLES}
        for bias in BIASES["2024"]:
            row: dict[str, Any] = {"pool": 0, "seconds": 0.0, "oracles": {}}
            for task in tasks:
                pool, spent = make_pool(task, bias, size)
                row["pool"] += len(pool)
                row["seconds"] += spent
                for oracle in ORACLES:
                    cell = row["oracles"].setdefault(oracle, defaultdict(float))
                    found, tested = test(task, pool, oracle)
                    pools[oracle].setdefault(bias, {})[task.name] = tested
                    for name, value in found.items():
                        cell[name] += value
            results[domain][bias] = row
            remark(_line(domain, bias, row))
        for oracle, by_bias in pools.items():
            for bias, cut in oracle_coverage(by_bias).items():
                results[domain][bias]["oracles"][oracle]["coverage"] = cut.coverage
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
