"""Decisions per second of ASNets on a core: the native network and PyTorch.

    python -m benchmarks.asnet

Applicability is part of what is measured, on both sides. Times are of the processor, so that other work on the machine
counts little. Each figure is the best of several rounds. `asnet_gpu` measures a GPU.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.common import remark, report
from misstep._core import available_kernels
from misstep.errors import MissingDependencyError
from misstep.policies.asnet.policy import core_network
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import random_weights
from misstep.policies.policy import States
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

TASKS: dict[str, tuple[str, dict[str, int]]] = {
    "blocks 10": ("blocksworld", {"blocks": 10}),
    "gripper 12": ("gripper", {"balls": 12}),
    "transport 1044 operators": (
        "transport",
        {"vehicles": 3, "packages": 8, "locations": 10, "capacity": 2},
    ),
}
SECONDS = 1.0
ROUNDS = 5
BATCHES = (1, 256)


def make_task(name: str, folder: Path) -> Task:
    domain, sizes = TASKS[name]
    return load_task(*write_instance(generate(domain, **sizes), folder))


def random_states(task: Task, count: int) -> States:
    """States of a random walk, the same ones again after the first few thousand."""
    random = np.random.default_rng(0)
    found: list[tuple[int, ...]] = []
    state = task.initial_state
    for _ in range(min(count, 4096)):
        found.append(state.values)
        operators = task.applicable(state)
        state = (
            task.apply(state, operators[random.integers(len(operators))])
            if operators
            else task.initial_state
        )
    return np.resize(np.array(found, np.int32), (count, task.variable_count))


def rate(work: Callable[[], Any], states: int) -> float:
    """States per second of the best round."""
    work()
    best = 0.0
    for _ in range(ROUNDS):
        calls = 0
        start = process_time()
        while (passed := process_time() - start) < SECONDS / ROUNDS:
            work()
            calls += 1
        best = max(best, calls * states / passed)
    return best


def native(task: Task, batch_sizes: Sequence[int]) -> dict[str, Any]:
    structure = structure_of(task)
    weights = random_weights(structure.shape)
    result: dict[str, Any] = {
        "operators": task.operator_count,
        "facts": len(structure.facts),
        "slots": sum(rows.size for rows in structure.related),
        "parameters": weights.parameter_count,
    }
    for kernels in available_kernels():
        network = core_network(task, structure, weights, kernels=kernels).policy()
        for size in batch_sizes:
            batches = np.split(random_states(task, max(size, 256)), max(1, 256 // size))

            def work(network: Any = network, batches: Sequence[States] = batches) -> None:
                for batch in batches:
                    network.decide_batch(batch)

            count = sum(map(len, batches))
            result[f"{kernels} batch {size}"] = rate(work, count)
    return result


def twin(task: Task, batch_sizes: Sequence[int]) -> dict[str, float]:
    """The same of the PyTorch twin, on one thread."""
    from misstep.policies.asnet.on_device import sure_decisions
    from misstep.policies.asnet.torch_network import ASNet
    from misstep.policies.torch_extra import exact_arithmetic, torch

    model = ASNet(random_weights(structure_of(task).shape)).eval()
    ground = model.ground(task)
    result: dict[str, float] = {}
    for size in batch_sizes:
        states = torch.as_tensor(random_states(task, size))

        def work(states: Any = states) -> None:
            with exact_arithmetic():
                sure_decisions(model, ground, states)

        result[f"batch {size}"] = rate(work, size)
    return result


def main() -> None:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(TASKS):
            task = make_task(name, Path(folder) / str(i))
            results[name] = {"native": native(task, BATCHES)}
            try:
                results[name]["torch"] = twin(task, BATCHES)
            except MissingDependencyError:
                remark("PyTorch is not installed: only the native network is measured")
    report("asnet", results)


if __name__ == "__main__":
    main()
