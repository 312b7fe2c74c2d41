"""Tasks of every built-in domain with random states and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.weights import Weights, random_weights
from misstep.policies.policy import States
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.load import load_task
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

MakeTask = Callable[..., Task]


@pytest.fixture(scope="session")
def make_task(tmp_path_factory: pytest.TempPathFactory) -> MakeTask:
    """A task of a built-in domain; sizes as in `generate`."""

    @cache
    def make(domain: str, **sizes: int) -> Task:
        folder = tmp_path_factory.mktemp(domain)
        return load_task(*write_instance(generate(domain, **sizes), folder))

    return make


@pytest.fixture(scope="session")
def load_text(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Task]:
    def load(domain: str, problem: str) -> Task:
        folder: Path = tmp_path_factory.mktemp("text")
        (folder / "domain.pddl").write_text(domain)
        (folder / "problem.pddl").write_text(problem)
        return load_planning_task(folder)

    return load


@pytest.fixture(scope="session")
def walk() -> Callable[[Task, int], States]:
    """States of random walks that start anew now and then."""

    def states(task: Task, count: int) -> States:
        random = np.random.default_rng(1)
        found: list[tuple[int, ...]] = []
        state = task.initial_state
        while len(found) < count:
            found.append(state.values)
            operators = task.applicable(state)
            if not operators or random.random() < 0.02:
                state = task.initial_state
            else:
                state = task.apply(state, operators[random.integers(len(operators))])
        return np.array(found, np.int32)

    return states


@pytest.fixture(scope="session")
def weigh() -> Callable[..., Weights]:
    """Random weights for a task. Biases are random too, so that a lost one shows."""

    def weights(task: Task, seed: int = 0, hidden: int = 16, layers: int = 2) -> Weights:
        shape = shape_of(task.lifted)
        return random_weights(shape, seed=seed, hidden=hidden, layers=layers, bias=0.3)

    return weights
