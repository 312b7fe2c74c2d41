"""Distances h* and lengths of plans, and bounds on them, agree with the whole state space."""

from __future__ import annotations

import pytest

from misstep.faults.distances import BoundedDistances, ExactDistances
from misstep.tasks.census import SmallTask
from support.worlds import COSTS, NAMES, world


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_distances_and_lengths_are_exact_on_small_tasks(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    known = ExactDistances(SmallTask(here.task, here.space))
    for state in here.states(50):
        assert known.lower(state) == known.upper(state) == here.h_star(state)
        assert known.length(state) == here.length(state)


@pytest.mark.parametrize("evaluations", [1, 30])
@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3", "conditional"])
def test_bounds_enclose_the_truth(name: str, evaluations: int) -> None:
    here = world(name, (0, 1, 5))
    known = BoundedDistances(here.task, evaluations)
    for state in here.states(20):
        assert known.lower(state) <= here.h_star(state) <= known.upper(state)
