"""Throughput of graph network policies: evaluated states per second over batch sizes, as JSON.

    python -m benchmarks.gnn --policies ../shared/policies/kr22-gnn --device cuda

The baseline evaluates one decision at a time: what a planner with such a policy does.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.gnn import GNNPolicy, load
from misstep.tasks.load import load_task

TASKS = {
    "blocks": "probBLOCKS-10-0",
    "gripper": "prob05",
    "logistics": "probLOGISTICS-7-0",
    "visitall": "problem05-full",
}


def measure(
    policies: Path,
    domain: str,
    device: str = "cpu",
    batches: Sequence[int] = (1, 8, 64, 256, 1024),
    seconds: float = 3.0,
) -> dict[str, Any]:
    """Throughput on one task. A batch size counts evaluated states, up to whole decisions."""
    folder = policies / domain
    task = load_task(folder / "tasks" / "domain.pddl", folder / "tasks" / f"{TASKS[domain]}.pddl")
    policy = load(f"--device={device} {folder / 'model.ckpt'}", task)
    parents = random_states(policy, 512 + max(batches) // 2)
    sizes = np.diff(task.applicable_batch(parents)[0])
    result: dict[str, Any] = {
        "domain": domain,
        "task": TASKS[domain],
        "device": device,
        "branching": float(sizes.mean()),
        "one_decision_at_a_time": rate(
            lambda i: _decide(policy, parents[_one(i, parents)]), seconds
        ),
        "batches": {},
    }
    for batch in batches:
        # Whole decisions until there are so many states.
        count = max(1, int(np.searchsorted(np.cumsum(sizes), batch, side="right")))
        starts = [0] if count >= len(parents) else list(range(0, len(parents) - count, count))
        result["batches"][batch] = rate(
            lambda i, starts=starts, count=count: _decide(  # type: ignore[misc]
                policy, parents[starts[i % len(starts)] :][:count]
            ),
            seconds,
        )
    return result


def random_states(policy: GNNPolicy, count: int) -> NDArray[np.int32]:
    """States of random walks, all different in origin; every walk restarts after fifty steps."""
    task, random = policy.task, np.random.default_rng(0)
    walkers = 64
    start = np.tile(np.array(task.initial_state.values, dtype=np.int32), (walkers, 1))
    states, seen = start, []
    for step in range(1, count // walkers + 2):
        offsets, operators = task.applicable_batch(states)
        pick = offsets[:-1] + random.integers(0, np.maximum(np.diff(offsets), 1))
        states = task.apply_batch(states, operators[pick]) if step % 50 else start
        seen.append(states)
    return np.concatenate(seen)[:count]


def rate(evaluate: Callable[[int], int], seconds: float) -> dict[str, float]:
    """Evaluated states per second: the median over calls, after one call to warm up."""
    for warm in range(3):
        evaluate(warm)
    rates, begin, call = [], time.perf_counter(), 0
    while call < 3 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        states = evaluate(call)
        rates.append(states / (time.perf_counter() - before))
        call += 1
    return {"states_per_second": float(np.median(rates)), "calls": call}


def _decide(policy: GNNPolicy, states: NDArray[np.int32]) -> int:
    return policy.decide(np.ascontiguousarray(states)).evaluations


def _one(index: int, parents: NDArray[np.int32]) -> slice:
    row = index % len(parents)
    return slice(row, row + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, default=Path("../shared/policies/kr22-gnn"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--domains", nargs="+", default=["blocks"], choices=sorted(TASKS))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 64, 256, 1024])
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    results = [
        measure(
            arguments.policies,
            domain,
            arguments.device,
            arguments.batches,
            arguments.seconds,
        )
        for domain in arguments.domains
    ]
    print(json.dumps({"machine": platform.machine(), "results": results}, indent=2))


if __name__ == "__main__":
    main()
