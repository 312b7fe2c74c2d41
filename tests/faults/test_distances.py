"""Distances h* and lengths of plans, and bounds on them, agree with the whole state space."""

from __future__ import annotations

import math

import pytest

from misstep.faults.distances import BoundedDistances, ExactDistances, exact_distances
from misstep.tasks.census import SmallTask
from misstep.tasks.task import State, Task
from support.tasks import sas
from support.worlds import COSTS, NAMES, world


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_distances_and_lengths_are_exact_on_small_tasks(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    known = ExactDistances(SmallTask(here.task, here.space))
    for state in here.states(50):
        assert known.lower(state) == known.upper(state) == here.h_star(state)
        assert known.length(state) == here.length(state)


def test_nothing_is_known_of_states_that_cannot_be_reached() -> None:
    """A switch that no operator moves, and a way of three steps to the goal."""
    steps = [f"0\n1\n0 0 {place} {place + 1}\n1" for place in range(3)]
    task = Task(sas([4, 2], [0, 0], [(0, 3)], steps).encode())
    known = exact_distances(task)
    assert known is not None
    for place in range(4):
        here, elsewhere = State([place, 0]), State([place, 1])
        assert known.lower(here) == known.upper(here) == 3 - place
        assert (known.lower(elsewhere), known.upper(elsewhere)) == (0, math.inf)
        assert known.best_operator(elsewhere) is None
        assert known.length(elsewhere) is None


@pytest.mark.parametrize("evaluations", [1, 30])
@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3", "conditional"])
def test_bounds_enclose_the_truth(name: str, evaluations: int) -> None:
    here = world(name, (0, 1, 5))
    known = BoundedDistances(here.task, evaluations)
    for state in here.states(20):
        assert known.lower(state) <= here.h_star(state) <= known.upper(state)
