"""Tiny trainings."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from misstep.tasks.task import Task
from support.tasks import generated_task


@cache
def gripper(balls: int, scatter: int = 0) -> Task:
    task = generated_task("gripper", balls=balls, scatter=scatter)
    task.name = f"gripper-{balls}"
    return task


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """More threads than free cores make small matrices very slow."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


@pytest.fixture
def tiny() -> dict[str, Any]:
    """Settings with which an epoch takes a fraction of a second."""
    from misstep.training.settings import LearnerSettings
    from misstep.training.testing import TestSettings

    return {
        "hidden": 4,
        "layers": 1,
        "seed": 3,
        "learner": LearnerSettings(steps=4, batch_size=8, learning_rate=0.02),
        "test": TestSettings(pool_size=5, seed=3),
    }
