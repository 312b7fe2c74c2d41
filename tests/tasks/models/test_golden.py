"""The exact numbers of small built-in models, through the plain evaluator."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from misstep.tasks.models import generate_model
from support.ground_truth import Census, census, is_safe
from support.models import GOLDEN, Choices, described
from support.plain_task import PlainTask


@pytest.mark.parametrize(("name", "choices", "expected"), GOLDEN, ids=described)
def test_the_numbers_of_small_models(name: str, choices: Choices, expected: Census) -> None:
    assert census(PlainTask(generate_model(name, **choices).document)) == expected


Grid = dict[str, tuple[float, float, int]]  # by variable: from, to, how many


def safe_starts(task: PlainTask, grid: Grid) -> int:
    known: dict[object, bool] = {}
    axes = [[float(x) for x in np.linspace(*axis)] for axis in grid.values()]
    starts = [dict(zip(grid, point, strict=True)) for point in product(*axes)]
    return sum(is_safe(task, task.state({**start, "t": 0}), known) for start in starts)


def test_safe_starts_of_the_inverted_pendulum() -> None:
    task = PlainTask(generate_model("inverted-pendulum", horizon=10).document)
    assert safe_starts(task, {"angle": (-0.7, 0.7, 15), "speed": (-2, 2, 9)}) == 75


def test_safe_starts_of_the_bouncing_ball() -> None:
    task = PlainTask(generate_model("bouncing-ball", horizon=30).document)
    assert safe_starts(task, {"h": (5, 9, 9), "v": (-1, 1, 5)}) == 45


def test_a_ball_that_is_never_pushed_is_lost_after_28_steps() -> None:
    task = PlainTask(generate_model("bouncing-ball").document)
    state = task.state({"h": 7.0, "v": 0.0, "t": 0})
    for _ in range(28):
        assert not task.is_unsafe(state)
        (state,) = task.outcomes(state)["skip"]
    assert task.is_unsafe(state)
