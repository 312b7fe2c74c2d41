"""Plan improvement: how fast the bound store grows, and elimination against its twin in Python.

python -m benchmarks.improve [SECONDS]
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.common import TASKS, alternate, benchmark_task, remark, report
from misstep._core import (
    HFF,
    BoundStore,
    CounterRandom,
    GreedyBestFirst,
    best_elimination,
    eliminate,
)
from misstep.tasks.task import Task

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # for the naive twin

RUNS = 5
LENGTH = 100


def bad_plan(task: Task) -> list[int]:
    """A plan of at least LENGTH steps: a random walk, then what a greedy search finds."""
    random = CounterRandom(1)
    state = task.initial_state
    plan: list[int] = []
    while True:
        if len(plan) >= LENGTH // 2:
            rest = GreedyBestFirst(task, HFF(task), state).run(seconds=20)
            if rest.status == "plan" and len(plan) + len(rest.plan) >= LENGTH:
                return plan + rest.plan
        operators = task.applicable(state)
        plan.append(operators[random.below(len(operators))])
        state = task.apply(state, plan[-1])


def seconds_of(work: partial[Any], repeat: int) -> float:
    began = perf_counter()
    for _ in range(repeat):
        work()
    return (perf_counter() - began) / repeat


def growth(task: Task, plan: list[int], seconds: float, wide: bool) -> float:
    """Generated states a second, propagation of bounds included.

    Wide: one search around the start that never turns back, so that all it generates is new. Else the
    usual case: many small neighbourhoods that overlap, mostly walked over again.
    """
    graph = BoundStore(task)
    began = perf_counter()
    result = graph.improve(
        task.initial_state, plan, seconds=seconds, growth=10**12 if wide else 1000
    )
    return result.generated / (perf_counter() - began)


def main() -> None:
    from support.plans import naive_elimination

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    results: dict[str, Any] = {}
    for name in TASKS:
        task = benchmark_task(name)
        plan = bad_plan(task)
        start = task.initial_state
        rates = alternate(
            RUNS,
            partial(growth, task, plan, seconds, True),
            partial(growth, task, plan, seconds, False),
        )
        times = alternate(
            RUNS,
            partial(seconds_of, partial(eliminate, task, start, plan), 100),
            partial(seconds_of, partial(eliminate, task, start, plan, greedy=True), 10),
            partial(seconds_of, partial(best_elimination, task, start, plan), 10),
            partial(seconds_of, partial(naive_elimination, task, start, plan), 1),
        )
        ratio = times[3] / times[0]
        remark(
            f"{name:16} growth {rates[0]:12,.0f} new, {rates[1]:12,.0f} all /s   elimination of {len(plan)}"
            f" steps {times[0] * 1e6:8,.0f} us, greedy {times[1] * 1e6:8,.0f} us, twin {ratio:6,.0f}x"
        )
        results[name] = {
            "plan_steps": len(plan),
            "new_per_second": round(rates[0]),
            "generated_per_second": round(rates[1]),
            "elimination_us": round(times[0] * 1e6, 1),
            "greedy_us": round(times[1] * 1e6, 1),
            "best_us": round(times[2] * 1e6, 1),
            "naive_python_us": round(times[3] * 1e6, 1),
            "ratio": round(ratio, 1),
        }
    report("improve", results)


if __name__ == "__main__":
    main()
