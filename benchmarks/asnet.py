"""Decisions per second of ASNets: the native network on a core, PyTorch on a core or on a GPU.

    python -m benchmarks.asnet [--device cuda] [--out FILE]

Writes JSON. Applicability is part of what is measured, on both sides. Times are of the processor on
the CPU, so that other work on the machine counts little, and of the wall clock on a GPU. Each
figure is the best of several rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

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


def rate(work: Callable[[], Any], states: int, clock: Callable[[], float]) -> float:
    """States per second of the best round."""
    work()
    best = 0.0
    for _ in range(ROUNDS):
        calls = 0
        start = clock()
        while (passed := clock() - start) < SECONDS / ROUNDS:
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
            result[f"{kernels} batch {size}"] = rate(work, count, time.process_time)
    return result


def benchmark(
    task: Task, model: Any, batch_sizes: Sequence[int], device: str = "cpu"
) -> dict[str, float]:
    """States per second of the PyTorch twin (an `ASNet`) at each batch size.

    `plain` launches each operation, `runner` is what `compile_for` gives, and `fused` is the same
    with PyTorch's compiler; the last two are measured on a GPU only. States and decisions lie on
    the device.
    """
    import torch

    on_gpu = device != "cpu"
    torch.set_num_threads(1)
    model = model.to(device).eval()
    ground = model.ground(task, device)
    result: dict[str, float] = {}

    def timed(name: str, decide: Callable[[Any], Any], states: Any) -> None:
        # Many calls between two waits: the launches of one overlap with the work of another.
        repeats = 20 if on_gpu else 1

        def work() -> None:
            for _ in range(repeats):
                decide(states)
            if on_gpu:
                torch.cuda.synchronize()

        clock = time.perf_counter if on_gpu else time.process_time
        result[name] = rate(work, repeats * len(states), clock)

    for size in batch_sizes:
        states = torch.as_tensor(random_states(task, size)).to(device)
        timed(f"plain batch {size}", lambda s: model.decide(ground, s), states)
        if on_gpu:
            timed(f"runner batch {size}", model.compile_for(ground, size).run, states)
            try:
                fused = model.compile_for(ground, size, fuse=True)
            except Exception as error:  # the compiler needs a C compiler and a driver that suits it
                print(f"batch {size} cannot be fused: {error!r:.200}", file=sys.stderr)
                continue
            timed(f"fused batch {size}", fused.run, states)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="Decisions per second of ASNets")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--batch", type=int, nargs="*", help="batch sizes")
    parser.add_argument(
        "--out", type=Path, help="where to write the JSON (default: standard output)"
    )
    arguments = parser.parse_args()
    sizes = arguments.batch or ([1, 256] if arguments.device == "cpu" else [1, 64, 1024, 32768])
    report: dict[str, Any] = {"machine": platform.processor() or platform.machine(), "tasks": {}}
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(TASKS):
            task = make_task(name, Path(folder) / str(i))
            entry = {"native": native(task, [1, 256])}
            try:
                from misstep.policies.asnet.torch_network import ASNet
            except MissingDependencyError:
                print(
                    "PyTorch is not installed: only the native network is measured", file=sys.stderr
                )
            else:
                model = ASNet.random(structure_of(task).shape)
                entry[f"torch on {arguments.device}"] = benchmark(
                    task, model, sizes, arguments.device
                )
            report["tasks"][name] = entry
    text = json.dumps(report, indent=2)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
