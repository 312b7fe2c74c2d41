"""Published networks if they are at hand, and small random ones written in the same format."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.policies.gnn import GNNPolicy, load
from misstep.policies.policy import States
from misstep.tasks.load import load_task

Open = Callable[..., GNNPolicy]
Build = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def published(shared: Path) -> Path:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = shared / "policies" / "kr22-gnn"
    if not folder.is_dir():
        pytest.skip("the published networks are not there")
    return folder


@pytest.fixture(scope="session")
def open_policy(published: Path) -> Open:
    """A published network on one of its tasks."""

    @cache
    def opened(domain: str, problem: str, options: str = "--ignore-unsolvable") -> GNNPolicy:
        tasks = published / domain / "tasks"
        task = load_task(tasks / "domain.pddl", tasks / f"{problem}.pddl")
        return load(f"{options} {published / domain / 'model.ckpt'}", task)

    return opened


@pytest.fixture(scope="session")
def walk() -> Callable[[GNNPolicy, int], States]:
    """States of a random walk."""

    def states(policy: GNNPolicy, count: int) -> States:
        task, random = policy.task, np.random.default_rng(count)
        rows = [np.array([task.initial_state.values], dtype=np.int32)]
        while len(rows) < count:
            operators = task.applicable_batch(rows[-1])[1]
            rows.append(task.apply_batch(rows[-1], random.choice(operators, 1)))
        return np.concatenate(rows)

    return states


@pytest.fixture(scope="session")
def random_network() -> Build:
    """A checkpoint with random weights, before it is saved."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def build(
        predicates: list[tuple[str, int]], width: int = 8, rounds: int = 3, solvable: bool = False
    ) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(len(predicates))
        listed = predicates + [(f"{name}_goal", arity) for name, arity in predicates]
        state: dict[str, Any] = {}

        def linear(name: str, inputs: int, outputs: int) -> None:
            scale = inputs**-0.5
            state[f"{name}.weight"] = torch.randn(outputs, inputs, generator=generator) * scale
            state[f"{name}.bias"] = torch.randn(outputs, generator=generator) * scale

        network = "model.relation_network"
        for index, (_, arity) in enumerate(listed):
            for layer in (0, 2) if arity else ():
                linear(f"{network}.relation_modules.{index}.{layer}", arity * width, arity * width)
        linear(f"{network}.update.0", 2 * width, 2 * width)
        linear(f"{network}.update.2", 2 * width, width)
        for head in ("readout", "solvable_readout") if solvable else ("readout",):
            for part in ("pre.0", "pre.2", "post.0"):
                linear(f"{head}.{part}", width, width)
            linear(f"{head}.post.2", width, 1)
        parameters = {"predicates": listed, "hidden_size": width, "iterations": rounds}
        return {"state_dict": state, "hyper_parameters": parameters}

    return build
