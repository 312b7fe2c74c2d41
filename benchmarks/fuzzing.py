"""Fuzzers: steps of unbiased walks, and biased pools against one exploration a pair without pruning.

Biases are timed with a policy whose decisions are known already, so that only the fuzzer counts. It follows plans of
hill-climbing, which are long and do not loop: failing runs would not be measured.

python -m benchmarks.fuzzing [STATES [TASK...]]
"""

from __future__ import annotations

import sys
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import TASKS, alternate, benchmark_task, remark, report
from misstep._core import HFF, EnforcedHillClimbing, GreedyBestFirst
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.fuzzer_2024 import Fuzzer2024
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.settings import Settings, preset
from misstep.policies.load import load_policy
from misstep.policies.policy import NO_ACTION, Answers, Candidates, Policy, States
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task

RUNS = 3
WALK_STATES = 50_000


class Planner(Policy):
    """Follows the first plan it found through a state."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.hff = HFF(task)
        self.known: dict[State, int] = {}

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        assert candidates is None
        answers = [self._one(State(values)) for values in states.tolist()]
        return Answers(np.array(answers, dtype=np.int32))

    def _plan(self, state: State) -> list[int]:
        found = EnforcedHillClimbing(self.task, self.hff, state).run()
        if found.status == "plan":
            return found.plan
        return GreedyBestFirst(self.task, self.hff, state).run().plan

    def _one(self, state: State) -> int:
        if state not in self.known:
            at = state
            for op in self._plan(state):
                self.known.setdefault(at, op)
                at = self.task.apply(at, op)
        return self.known.get(state, NO_ACTION)


def walk_rate(task: Task) -> float:
    runner = PolicyRunner(load_policy("heuristic:ff", task))
    settings = preset("p24", bias="none", max_states=WALK_STATES)
    began = perf_counter()
    pool = fuzz(task, runner, settings, 1)
    return pool.walk_steps / (perf_counter() - began)


def seconds(runner: PolicyRunner, settings: Settings, naive: bool, pools: list[Pool]) -> float:
    fuzzer = Fuzzer2024(runner.task, runner, settings, 1, naive=naive)
    began = perf_counter()
    pools.append(fuzzer.run())
    return perf_counter() - began


def main() -> None:
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    results: dict[str, Any] = {}
    for name in sys.argv[2:] or TASKS:
        task = benchmark_task(name)
        (rate,) = alternate(RUNS, partial(walk_rate, task))
        remark(f"{name:16} {rate:10,.0f} walk steps/s")
        results[name] = {"walk_steps_per_second": round(rate)}
        for bias in ("detour", "loop", "surface"):
            settings = preset("p24", bias=bias, max_states=states)
            runner = PolicyRunner(Planner(task))
            pools: list[Pool] = []
            seconds(runner, settings, False, pools)
            fast, slow = alternate(
                RUNS,
                partial(seconds, runner, settings, False, pools),
                partial(seconds, runner, settings, True, pools),
            )
            assert all(pool == pools[0] for pool in pools)
            remark(
                f"{name:16} {bias:8} {1e3 * fast:8.1f} ms {1e3 * slow:9.1f} ms {slow / fast:6.1f}x,"
                f" pools identical, {pools[0].run_steps / max(1, pools[0].walk_steps):.0f} run steps a step"
            )
            results[name][bias] = {
                "milliseconds": round(1e3 * fast, 1),
                "one_exploration_a_pair_milliseconds": round(1e3 * slow, 1),
                "ratio": round(slow / fast, 1),
                "states": len(pools[0]),
                "walk_steps": pools[0].walk_steps,
                "run_steps": pools[0].run_steps,
            }
    report("fuzzing", results)


if __name__ == "__main__":
    main()
