"""Random walks from Python against pymimir in its grounded mode: list the applicable operators, pick one, apply it.

python -m benchmarks.walks [STEPS]
"""

from __future__ import annotations

import random
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.common import TASKS, alternate, remark, report
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

RUNS = 5
ROWS = 4096


def one_at_a_time(task: Task, steps: int) -> float:
    pick = random.Random(1).random
    state = start = task.initial_state
    began = process_time()
    for _ in range(steps):
        operators = task.applicable(state)
        state = task.apply(state, operators[int(pick() * len(operators))]) if operators else start
    return steps / (process_time() - began)


def in_batches(task: Task, steps: int) -> float:
    rng = np.random.default_rng(1)
    start = np.array([task.initial_state.values] * ROWS, dtype=np.int32)
    states = start
    began = process_time()
    done = 0
    while done < steps:
        offsets, operators = task.applicable_batch(states)
        counts = np.diff(offsets)
        stuck = counts == 0
        if stuck.any():
            states[stuck] = start[stuck]
            continue
        picked = operators[offsets[:-1] + (rng.random(ROWS) * counts).astype(np.int64)]
        states = task.apply_batch(states, picked)
        done += ROWS
    return done / (process_time() - began)


def pymimir_walk(problem: Any, steps: int) -> float:
    pick = random.Random(1).random
    state = start = problem.get_initial_state()
    began = process_time()
    for _ in range(steps):
        actions = state.generate_applicable_actions()
        state = actions[int(pick() * len(actions))].apply(state) if actions else start
    return steps / (process_time() - began)


def main() -> None:
    import pymimir

    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    results = {}
    for name, (domain, sizes) in TASKS.items():
        folder = Path(tempfile.mkdtemp(prefix="misstep-bench-"))
        files = write_instance(generate(domain, seed=1, **sizes), folder)
        task = load_task(*files)
        problem = pymimir.Problem(pymimir.Domain(str(files[0])), str(files[1]), mode="grounded")
        single, batch, peer = alternate(
            RUNS,
            partial(one_at_a_time, task, 10 * steps),
            partial(in_batches, task, 100 * steps),
            partial(pymimir_walk, problem, steps),
        )
        remark(
            f"{name:16} {single:12,.0f} {batch:12,.0f} {peer:10,.0f} steps/s"
            f"  {single / peer:5.1f}x {batch / peer:6.1f}x"
        )
        results[name] = {
            "one_at_a_time_per_second": round(single),
            "batch_per_second": round(batch),
            "pymimir_per_second": round(peer),
            "ratio_one_at_a_time": round(single / peer, 1),
            "ratio_batch": round(batch / peer, 1),
        }
    report("walks", results)


if __name__ == "__main__":
    main()
