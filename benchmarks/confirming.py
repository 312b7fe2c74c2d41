"""What asking the policy again costs: campaigns with and without it, side by side.

    python -m benchmarks.confirming [REPEATS]

Campaigns of ordinary size with a Python policy (a spec, so that a new interpreter asks again), one with batches, a
native one, and a Python policy on a model. `share` is the additional wall-clock time; processor time includes that of
the other processes, and with it the start of an interpreter. Each campaign is run several times, alternately with and
without, and the least time counts.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import misstep
from benchmarks.common import remark, report
from misstep.campaigns import session
from misstep.campaigns.confirm import Asking
from misstep.tasks.generate import generate

REPEATS = 3
POOL = 200
CODE = '''
import numpy as np
import misstep


class Greedy:
    """Follows the FF heuristic, as a policy in Python would: one state at a time."""

    def __init__(self, task):
        self.inner = misstep.load_policy("noisy:0.1:1+heuristic:ff", task)

    def act(self, state):
        return int(self.inner.decide(np.array([state.values], dtype=np.int32)).operators[0])


class Batches(Greedy):
    def act_batch(self, states):
        rows = np.array([state.values for state in states], dtype=np.int32)
        return self.inner.decide(rows).operators.tolist()


class Labels:
    """A fixed pseudo-random preference among labels."""

    def __init__(self, task):
        self.labels = task.labels

    def values(self, state):
        key = sum((i + 3) * int(value) for i, value in enumerate(state.values()))
        return {label: (key * (i + 7)) % 11 for i, label in enumerate(self.labels)}

    def act(self, state):
        return None
'''


def processor_time() -> float:
    """Of this process and of those that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(own.ru_utime + own.ru_stime for own in both)


def measured(run: Callable[[], misstep.Campaign], repeats: int) -> dict[str, Any]:
    times: dict[bool, list[float]] = {True: [], False: []}
    processor: dict[bool, list[float]] = {True: [], False: []}
    summary = None
    for _ in range(repeats):
        for confirms in (False, True):
            began, used = perf_counter(), processor_time()
            if confirms:
                summary = run().summary
            else:
                with patch.object(session, "asking_of", lambda *_: Asking(asks=False)):
                    run()
            times[confirms].append(perf_counter() - began)
            processor[confirms].append(processor_time() - used)
    assert summary is not None
    without, with_it = min(times[False]), min(times[True])
    return {
        "seconds without": round(without, 2),
        "seconds with": round(with_it, 2),
        "share": round(with_it / without - 1, 3),
        "processor seconds without": round(min(processor[False]), 2),
        "processor seconds with": round(min(processor[True]), 2),
        "stage seconds": summary.seconds.get("confirm", 0.0),
        "policy calls": summary.policy_calls,
        "asked again": summary.asked_again,
        "tested": summary.tested,
        "bugs": summary.bugs["total"],
        "flaky": summary.flaky,
    }


def main(repeats: int = REPEATS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policies.py"
        file.write_text(CODE)
        task = misstep.load_task(generate("gripper", balls=8))
        model = misstep.load_task(generate("one-way-line", cells=8, packages=3, vmax=2))
        spec = f"python:{file}:"
        runs: dict[str, Callable[[], misstep.Campaign]] = {
            "python": lambda: misstep.test(task, f"{spec}Greedy", pool=POOL),
            "python, batches": lambda: misstep.test(task, f"{spec}Batches", pool=POOL),
            "python, 2 processes": lambda: misstep.test(task, f"{spec}Greedy", pool=POOL, jobs=2),
            "native": lambda: misstep.test(task, "noisy:0.1:1+heuristic:ff", pool=POOL),
            "python on a model": lambda: misstep.test(model, f"{spec}Labels", runs=2000),
        }
        results = {}
        for name, run in runs.items():
            results[name] = measured(run, repeats)
            remark(f"{name}: {results[name]}")
        report("confirming", results)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
