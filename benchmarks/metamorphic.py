"""P23's comparison on competition tasks: which share of all bugs each oracle finds, and how fast.

All oracles test one pool a task, made without bias, each on a bound store of its own. All of them process all states,
so the joint pool is the pool, and recall is the share of its states that an oracle convicts; what testing later states
has told about earlier ones counts at the end. Seconds are processor time; those of the metamorphic oracles include
computing the dominance function. The combined oracle must find what each of its parts finds.

python -m benchmarks.metamorphic [POOL [DOMAIN...]]  prints JSON, and its tables on standard error
"""

from __future__ import annotations

import sys
from collections import defaultdict
from time import process_time
from typing import Any

from benchmarks.common import remark, report
from benchmarks.ipc import THREE_EACH, competition_tasks
from misstep.campaigns.metrics.sets import ratio
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.settings import preset
from misstep.oracles.dominance import try_dominance
from misstep.oracles.grammar import read_oracle
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.workbench import Workbench
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task

POLICY = "noisy:0.1:1+heuristic:ff"
COMBINED = "bmo(100)+aras/ehc"
ORACLES = (
    "astar",
    "ehc",
    "aras/ehc",
    "lookahead(2)",
    "gbfs(1000)",
    "smo(10)",
    "bmo(0)",
    "bmo(10)",
    "bmo(100)",
    "bmo(1000)",
    COMBINED,
)
Found = dict[State, float]  # bugs, with the processor time at which each was known


def find(task: Task, states: list[State], oracle: str, dominance: Dominance | str) -> Found:
    bench = Workbench(PolicyRunner(load_policy(POLICY, task)), dominance=dominance)
    bench.verdicts_of(states)  # the policy's runs are not the oracle's time
    loop = TestLoop(bench, read_oracle(oracle), clock=process_time)
    for _ in loop.run([TestState(state) for state in states]):
        pass
    return {own.verdict.state: own.at for own in loop.settle() if own.verdict.is_bug}


def measure(task: Task, pool: Pool) -> dict[str, Found]:
    states = [entry.state for entry in pool if not task.is_goal(entry.state)]
    began = process_time()
    dominance = try_dominance(task)
    spent = process_time() - began
    results = {}
    for oracle in ORACLES:
        found = find(task, states, oracle, dominance)
        extra = spent if "mo(" in oracle else 0.0
        results[oracle] = {state: seconds + extra for state, seconds in found.items()}
    results["best-of"] = {
        state: min(found[state] for found in results.values() if state in found)
        for state in {state for found in results.values() for state in found}
    }
    return results


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    table: dict[str, Any] = {}
    for domain in sys.argv[2:] or THREE_EACH:
        counts: dict[str, int] = defaultdict(int)
        times: dict[str, list[float]] = defaultdict(list)
        tested = 0
        for task in competition_tasks(domain):
            runner = PolicyRunner(load_policy(POLICY, task))
            pool = fuzz(task, runner, preset("p23", max_states=size, patience=2000), 1)
            tested += len(pool)
            results = measure(task, pool)
            for oracle, found in results.items():
                counts[oracle] += len(found)
                times[oracle] += found.values()
            for part in ("bmo(100)", "aras/ehc"):
                missed = set(results[part]) - set(results[COMBINED])
                if missed:
                    remark(f"{task.name}: the combined oracle misses {len(missed)} of {part}")
        table[domain] = {
            "pool": tested,
            "oracles": {
                oracle: {
                    "bugs": count,
                    "recall": ratio(count, tested),
                    "over_time": over_time(times[oracle]),
                }
                for oracle, count in counts.items()
            },
        }
        cells = [f"{counts[oracle]}" for oracle in (*ORACLES, "best-of")]
        remark(f"| {domain} | {tested} | " + " | ".join(cells) + " |")
    report("metamorphic", table)


def over_time(seconds: list[float]) -> dict[str, int]:
    """Bugs known after so much processor time for each task."""
    return {str(limit): sum(s <= limit for s in seconds) for limit in (0.1, 0.3, 1, 3, 10, 30)}


if __name__ == "__main__":
    main()
