"""Dominance functions: the tables against a transcription of their definition, and states against many others.

python -m benchmarks.dominance
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import alternate, remark, report
from misstep._core import (
    MINUS_INFINITY,
    CounterRandom,
    DominanceFactoring,
    dominance_simulation,
    naive_dominance,
)
from misstep.oracles.dominance import ComparisonIndex, DominanceFunction, DominanceSettings
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import State, Task

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from support.dominance import gripper, logistics
from support.tasks import generated_task, sas

IPC = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "ipc"
ROWS = 100_000
FACTORS = 10
RUNS = 5

SIMULATION: dict[str, Any] = {
    "strict": True,
    "tau": True,
    "recursive_tau": True,
    "noop_tau": False,
    "truncate": 1000,
    "max_drops": 10**9,
    "max_steps": 10**12,
    "max_cells": 2**26,
    "threads": 1,
}


def against_the_definition() -> dict[str, Any]:
    """Gripper with 8 balls, merged within limits that the definition can cope with."""
    task = gripper(8)
    results = {}
    for limit in (1_000, 5_000):
        factoring = DominanceFactoring(
            task,
            merge=True,
            max_states=50_000,
            max_transitions=limit,
            reduce_labels=False,
            shrink=False,
            prune_unreachable=True,
        )
        sizes = [factoring.states(i) for i in range(len(factoring))]
        began = process_time()
        expected, *_ = naive_dominance(factoring, **SIMULATION)
        slow = process_time() - began
        times = []
        for _ in range(RUNS):
            began = process_time()
            tables = dominance_simulation(factoring, **SIMULATION)
            times.append(process_time() - began)
        fast = sorted(times)[RUNS // 2]
        for i, table in enumerate(expected):
            assert (tables.table(i) == table).all()
        remark(
            f"gripper-8, {limit} transitions, factors {sizes}: {fast:.4f} s, by the definition {slow:.1f} s, "
            f"{slow / fast:.0f}x, identical"
        )
        results[f"gripper-8 limit {limit}"] = {
            "states": sizes,
            "seconds": round(fast, 4),
            "definition_seconds": round(slow, 2),
            "ratio": round(slow / fast, 1),
        }
    return results


def tables_of_tasks() -> dict[str, Any]:
    """Default limits, with and without simplification; wall-clock and processor seconds."""
    tasks: dict[str, Callable[[], Task]] = {
        "gripper-20": lambda: generated_task("gripper", balls=20),
        "logistics-5-5": lambda: logistics(5, 5),
        "visitall-4x4": lambda: generated_task("visitall", width=4, height=4),
        "blocks probBLOCKS-10-0": lambda: load_planning_task(
            IPC / "blocks" / "probBLOCKS-10-0.pddl"
        ),
        "visitall problem05-full": lambda: load_planning_task(
            IPC / "visitall-opt11-strips" / "problem05-full.pddl"
        ),
    }
    results = {}
    for name, make in tasks.items():
        if " " in name and not IPC.is_dir():
            remark(f"{name}: the folder ../shared is not there")
            continue
        task = make()
        for simple in (False, True):
            settings = DominanceSettings(atomic=False, reduce_labels=simple, shrink=simple)
            wall, began = perf_counter(), process_time()
            function = DominanceFunction.compute(task, settings)
            seconds, cpu = perf_counter() - wall, process_time() - began
            sizes = sorted((f.states for f in function.factors), reverse=True)
            kind = "simplified" if simple else "plain"
            remark(f"{name:24} {kind:10} {seconds:6.2f} s ({cpu:.2f} s processor), factors {sizes}")
            results[f"{name}, {kind}"] = {
                "seconds": round(seconds, 3),
                "processor_seconds": round(cpu, 3),
                "states": sizes,
                "table_bytes": function.bytes,
                "fallbacks": list(function.remarks),
            }
    return results


def counters() -> Task:
    """Ten counters of 6 values that go up and down, for random states with many finite values."""
    operators = []
    for v in range(FACTORS):
        for x in range(5):
            operators += [f"0\n1\n0 {v} {x} {x + 1}\n1", f"0\n1\n0 {v} {x + 1} {x}\n{1 + v % 3}"]
    goal = [(v, 5) for v in range(FACTORS)]
    return Task(sas([6] * FACTORS, [0] * FACTORS, goal, operators).encode())


def against_one_pair_at_a_time() -> dict[str, Any]:
    """One state against 100,000 stored ones over 10 factors, both directions."""
    task = counters()
    function = DominanceFunction.compute(task, DominanceSettings(merged=False))
    assert len(function.factors) == FACTORS
    random = CounterRandom(7)
    rows: NDArray[np.int32] = np.array(
        [[random.below(6) for _ in range(FACTORS)] for _ in range(2 * ROWS)], dtype=np.int32
    )
    rows = np.unique(rows, axis=0)[:ROWS]
    index = ComparisonIndex(function)
    index.add_batch(rows)
    assert len(index) == ROWS
    tables = [
        function.matrix(*(np.array([[0] * v + [x] + [0] * (FACTORS - v - 1) for x in range(6)], dtype=np.int32),) * 2)
        for v in range(FACTORS)
    ]  # fmt: skip
    query = State([3] * FACTORS)

    def all_at_once() -> float:
        began = process_time()
        index.exchange(query, 10**6)
        return process_time() - began

    loop_rows = rows[: ROWS // 20]

    def one_at_a_time(found: list[tuple[int, int]]) -> float:
        found.clear()
        began = process_time()
        for row in loop_rows:
            there = back = 0
            for v, table in enumerate(tables):
                there += table[row[v], 3]
                back += table[3, row[v]]
            found.append((there, back))
        return (process_time() - began) * (ROWS / len(loop_rows))

    found: list[tuple[int, int]] = []
    fast, slow = alternate(RUNS, all_at_once, partial(one_at_a_time, found))
    batch = np.array([query.values], dtype=np.int32)
    there = function.matrix(loop_rows, batch)[:, 0]
    back = function.matrix(batch, loop_rows)[0]
    assert (there > MINUS_INFINITY).all()
    assert [tuple(map(int, pair)) for pair in found] == list(
        zip(there.tolist(), back.tolist(), strict=True)
    )
    remark(
        f"one state against {ROWS:,}, {FACTORS} factors, both directions: {1e3 * fast:.2f} ms, "
        f"pair by pair {1e3 * slow:,.0f} ms, {slow / fast:.0f}x"
    )
    return {
        "rows": ROWS,
        "factors": FACTORS,
        "milliseconds": round(1e3 * fast, 3),
        "pair_by_pair_milliseconds": round(1e3 * slow, 1),
        "ratio": round(slow / fast, 1),
    }


def main() -> None:
    report(
        "dominance",
        {
            "definition": against_the_definition(),
            "tables": tables_of_tasks(),
            "comparison": against_one_pair_at_a_time(),
        },
    )


if __name__ == "__main__":
    main()
