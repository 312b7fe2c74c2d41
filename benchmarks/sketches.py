"""Decisions per second of sketches: the native core, and the original package `dlplan` where it is installed.

    python -m benchmarks.sketches [RUNS]

A decision is the set of permitted steps of a state: which operators apply, and for each its successor and both states'
features. dlplan is driven from Python as its users drive it. Its side gets states and successors ready-made, so neither
applicability nor the making of states is in its figures: `dlplan` evaluates each step, `dlplan with caches` the
conditions once a state and everything once a distinct state, with caches that are empty at the start.
Processor time of one thread; the contestants take turns and medians are shown.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import misstep.policies
from benchmarks.common import alternate, remark, report
from misstep.policies.load import load_policy
from misstep.policies.policy import States
from misstep.policies.sketch.policy import SketchPolicy
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # for dlplan's side

TASKS: dict[str, tuple[str, dict[str, int]]] = {
    "gripper 6": ("gripper", {"balls": 6}),
    "gripper 12": ("gripper", {"balls": 12}),
    "gripper 30": ("gripper", {"balls": 30}),
    "ferry 5 cars, 5 harbours": ("ferry", {"cars": 5, "locations": 5}),
    "ferry 10 cars, 8 harbours": ("ferry", {"cars": 10, "locations": 8}),
    "ferry 40 cars, 20 harbours": ("ferry", {"cars": 40, "locations": 20}),
}
ZOO = Path(misstep.policies.__file__).parent / "zoo"
STATES = 4096
FEW = 200  # for dlplan


def walked_states(task: Task, count: int) -> States:
    random = np.random.default_rng(0)
    found: list[tuple[int, ...]] = []
    state = task.initial_state
    for _ in range(count):
        found.append(state.values)
        operators = task.applicable(state)
        state = task.apply(state, operators[random.integers(len(operators))])
    return np.array(found, np.int32)


def rate(work: Callable[[], Any], states: int) -> float:
    start = time.process_time()
    work()
    return states / (time.process_time() - start)


def originals(task: Task, file: Path, states: States) -> dict[str, Callable[[], float]]:
    """dlplan's contestants; none if it is not installed."""
    if importlib.util.find_spec("dlplan") is None:
        return {}
    from support.sketch_dlplan import DlplanSketch

    sketch = DlplanSketch(task, file.read_text())
    numbers: dict[State, int] = {}  # dlplan's caches know states by their number

    def made(state: State) -> Any:
        return sketch.state(state, numbers.setdefault(state, len(numbers)))

    few = [State(row) for row in states[:FEW].tolist()]
    ready = [
        (made(state), [made(task.apply(state, op)) for op in task.applicable(state)])
        for state in few
    ]

    def plain() -> None:
        for before, successors in ready:
            for after in successors:
                sketch.policy.evaluate(before, after)

    def cached() -> None:
        caches = sketch.new_caches()
        for before, successors in ready:
            rules = sketch.policy.evaluate_conditions(before, caches)
            for after in successors:
                sketch.policy.evaluate_effects(before, after, rules, caches)

    return {
        "dlplan": lambda: rate(plain, len(few)),
        "dlplan with caches": lambda: rate(cached, len(few)),
    }


def measure(task: Task, file: Path, runs: int) -> dict[str, float]:
    states = walked_states(task, STATES)
    whole = load_policy(f"sketch:--width=0 {file}", task)
    assert isinstance(whole, SketchPolicy)
    contestants: dict[str, Callable[[], float]] = {
        "all permitted": lambda: rate(lambda: whole.permitted(states), len(states))
    }
    for chooser in ("first", "last", "hash"):
        policy = load_policy(f"sketch:--choose={chooser} --width=0 {file}", task)

        def contestant(policy: Any = policy) -> float:
            return rate(lambda: policy.decide(states), len(states))

        contestants[f"choose {chooser}"] = contestant
    contestants |= originals(task, file, states)
    medians = alternate(runs, *contestants.values())
    result = dict(zip(contestants, medians, strict=True))
    result["applicable operators a state"] = len(task.applicable_batch(states)[1]) / len(states)
    return result


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if importlib.util.find_spec("dlplan") is None:
        remark("dlplan is not installed (pip install --no-deps dlplan): only the core is measured")
    results = {}
    for name, (domain, sizes) in TASKS.items():
        task = load_task(generate(domain, seed=1, **sizes))
        assert isinstance(task, Task)
        results[name] = measure(task, ZOO / f"sketch-{domain}.txt", runs)
    report("sketches", results)


if __name__ == "__main__":
    main()
