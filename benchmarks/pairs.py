"""hFF between all ordered pairs of a 51-state trace: one exploration a source against one a pair.

python -m benchmarks.pairs
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.common import TASKS, alternate, benchmark_task, remark, report
from misstep._core import HFF, CounterRandom, PairFF
from misstep.tasks.task import State, Task

RUNS = 5
STATES = 51


def trace(task: Task) -> list[State]:
    random = CounterRandom(1)
    states = [task.initial_state]
    while len(states) < STATES:
        operators = task.applicable(states[-1])
        states.append(task.apply(states[-1], operators[random.below(len(operators))]))
    return states


def main() -> None:
    results = {}
    for name in TASKS:
        task = benchmark_task(name)
        states = trace(task)
        rows = np.array([state.values for state in states], dtype=np.int32)
        pair, single = PairFF(task), HFF(task)
        matrices = {}

        def together(pair: PairFF = pair, rows: np.ndarray = rows, out: dict = matrices) -> float:  # type: ignore[type-arg]
            began = perf_counter()
            out["together"] = pair.all_pairs(rows)
            return perf_counter() - began

        def apart(
            single: HFF = single, states: list[State] = states, out: dict = matrices
        ) -> float:  # type: ignore[type-arg]
            # Both sides pay for the goal once a target; what differs is the exploration.
            values = np.full((STATES, STATES), np.nan)
            began = perf_counter()
            for j, target in enumerate(states):
                single.set_goal_state(target)
                values[:j, j] = single.evaluate_batch(rows_until[j])
            out["apart"] = values
            return perf_counter() - began

        rows_until = [np.ascontiguousarray(rows[:j]) for j in range(STATES)]
        fast, slow = alternate(RUNS, together, apart)
        upper = np.triu_indices(STATES, 1)
        assert (matrices["together"][upper] == matrices["apart"][upper]).all()
        remark(
            f"{name:16} {1e3 * fast:8.3f} ms {1e3 * slow:9.3f} ms  {slow / fast:5.1f}x, values identical"
        )
        results[name] = {
            "pairs": len(upper[0]),
            "milliseconds": round(1e3 * fast, 3),
            "one_a_pair_milliseconds": round(1e3 * slow, 3),
            "ratio": round(slow / fast, 1),
        }
    report("pairs", results)


if __name__ == "__main__":
    main()
