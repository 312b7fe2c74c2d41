"""hFF between all ordered pairs of a 51-state trace: one exploration a source against one a pair.

python -m benchmarks.pairs
"""

from __future__ import annotations

from functools import partial
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import TASKS, alternate, benchmark_task, remark, report
from misstep._core import HFF, CounterRandom, PairFF
from misstep.policies.load import load_policy
from misstep.policies.policy import States
from misstep.tasks.task import State, Task

RUNS = 15
STATES = 51

Matrix = NDArray[np.float64]


def trace(task: Task) -> list[State]:
    """A run as the fuzzing biases see it: a policy that errs now and then."""
    policy = load_policy("noisy:0.3:1+heuristic:ff", task)
    random = CounterRandom(1)
    states = [task.initial_state]
    while len(states) < STATES:
        operator = int(policy.decide(np.array([states[-1].values], dtype=np.int32)).operators[0])
        operators = task.applicable(states[-1])
        if operator < 0 or states[-1] in states[:-1]:  # stuck or in a loop: a step aside
            operator = operators[random.below(len(operators))]
        states.append(task.apply(states[-1], operator))
    return states


def together(pair: PairFF, rows: States, out: dict[str, Matrix]) -> float:
    began = process_time()
    out["together"] = pair.all_pairs(rows)
    return process_time() - began


def apart(single: HFF, states: list[State], rows: States, out: dict[str, Matrix]) -> float:
    """One exploration a pair, stopped as soon as the goal is reached."""
    values = np.full((STATES, STATES), np.nan)
    began = process_time()
    for j, target in enumerate(states):
        single.set_goal_state(target)
        values[:j, j] = single.evaluate_batch(rows[:j])
    out["apart"] = values
    return process_time() - began


def to_the_end(pair: PairFF, states: list[State]) -> float:
    """One exploration a pair, each to its fixpoint."""
    began = process_time()
    for j, target in enumerate(states):
        for source in states[:j]:
            pair(source, target)
    return process_time() - began


def main() -> None:
    results = {}
    for name in TASKS:
        task = benchmark_task(name)
        states = trace(task)
        rows = np.array([state.values for state in states], dtype=np.int32)
        found: dict[str, Matrix] = {}
        fast, early, full = alternate(
            RUNS,
            partial(together, PairFF(task), rows, found),
            partial(apart, HFF(task), states, rows, found),
            partial(to_the_end, PairFF(task), states),
        )
        upper = np.triu_indices(STATES, 1)
        assert (found["together"][upper] == found["apart"][upper]).all()
        remark(
            f"{name:16} {1e3 * fast:7.3f} ms {1e3 * early:8.3f} ms {1e3 * full:8.3f} ms"
            f"  {early / fast:5.1f}x {full / fast:5.1f}x, values identical"
        )
        results[name] = {
            "pairs": len(upper[0]),
            "milliseconds": round(1e3 * fast, 3),
            "one_a_pair_stopped_early_milliseconds": round(1e3 * early, 3),
            "one_a_pair_milliseconds": round(1e3 * full, 3),
            "ratio_stopped_early": round(early / fast, 1),
            "ratio": round(full / fast, 1),
        }
    report("pairs", results)


if __name__ == "__main__":
    main()
