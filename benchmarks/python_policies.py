"""Decisions a second of Python policies, by the way in which they are asked.

python -m benchmarks.python_policies [SECONDS]

The same small network (one hidden layer of 128, on the facts of the state, the best operator that applies) answers one
state at a time (`act`) or a whole batch (`act_batch`), with torch if it is installed and with numpy. A function that
reads names shows what a state costs that somebody looks at, and one that does nothing what a call costs. `limit` is the
same policy in a process of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.common import alternate, benchmark_task, report
from benchmarks.processes import ask_policy, rate
from misstep._core import CounterRandom
from misstep.policies.load import load_policy
from misstep.policies.policy import States
from misstep.tasks.task import Task

RUNS = 5
BATCH = 256
TASKS = ("gripper-12", "blocks-10")

SOURCE = """\
import numpy as np

def nothing(state):
    return 0

def names(state):
    return state.operators[0] if "handempty()" in state.facts else state.actions[-1]

class Numpy:
    def __init__(self, task):
        random = np.random.default_rng(0)
        facts, operators = len(task.vocabulary.facts), task.operator_count
        self.first = random.normal(size=(facts, 128)).astype(np.float32)
        self.second = random.normal(size=(128, operators)).astype(np.float32)

    def best(self, facts, mask):
        numbers = np.maximum(facts.astype(np.float32) @ self.first, 0) @ self.second
        return np.where(mask, numbers, -np.inf).argmax(-1)

class NumpyAct(Numpy):
    def act(self, state):
        return self.best(state.fact_array, state.mask)

class NumpyBatch(Numpy):
    def act_batch(self, states):
        return self.best(states.fact_array, states.mask)

class Torch:
    def __init__(self, task):
        import torch
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.torch = torch
        facts, operators = len(task.vocabulary.facts), task.operator_count
        layers = torch.nn.Linear(facts, 128), torch.nn.ReLU(), torch.nn.Linear(128, operators)
        self.network = torch.nn.Sequential(*layers)

    def best(self, facts, mask):
        with self.torch.inference_mode():
            numbers = self.network(self.torch.from_numpy(facts).float())
            return numbers.masked_fill(~self.torch.from_numpy(mask), -self.torch.inf).argmax(-1)

class TorchAct(Torch):
    def act(self, state):
        return self.best(state.fact_array, state.mask)

class TorchBatch(Torch):
    def act_batch(self, states):
        return self.best(states.fact_array, states.mask)
"""


def walked_states(task: Task, count: int) -> States:
    """States along a random walk."""
    random = CounterRandom(1)
    state = task.initial_state
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        found.append(state.values)
        operators = task.applicable(state)
        state = task.apply(state, operators[random.below(len(operators))])
    return np.array(found, dtype=np.int32)


def measure(task: Task, file: Path, seconds: float) -> dict[str, float]:
    states = walked_states(task, BATCH)
    kinds = ["Numpy"] + (["Torch"] if find_spec("torch") else [])
    specs = {name: f"python:{file}:{name}" for name in ("nothing", "names")}
    for kind in kinds:
        specs |= {f"{kind} {way}": f"python:{file}:{kind}{way.title()}" for way in ("act", "batch")}
    specs["Numpy act, limit"] = f"python:--timeout=60 {file}:NumpyAct"
    specs["Numpy batch, limit"] = f"python:--timeout=60 {file}:NumpyBatch"
    policies = {name: load_policy(spec, task) for name, spec in specs.items()}
    try:
        medians = alternate(
            RUNS,
            *(
                partial(rate, partial(ask_policy, own, states), seconds)
                for own in policies.values()
            ),
        )
    finally:
        for own in policies.values():
            own.close()
    found = dict(zip(specs, medians, strict=True))
    for kind in kinds:
        found[f"{kind} batch / act"] = round(found[f"{kind} batch"] / found[f"{kind} act"], 1)
    return found


def main() -> None:
    if (
        "OMP_NUM_THREADS" not in os.environ
    ):  # threads of numpy that wait for each other would be measured
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **threads})
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policies.py"
        file.write_text(SOURCE)
        results = {name: measure(benchmark_task(name), file, seconds) for name in TASKS}
    report("python_policies", {"unit": "decisions a second", "batch": BATCH, **results})


if __name__ == "__main__":
    main()
