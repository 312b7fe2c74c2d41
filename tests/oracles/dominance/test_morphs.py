"""States that a dominance function relates to a given one, best first."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import MINUS_INFINITY
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from misstep.tasks.task import State
from support.dominance import Truth, gripper, logistics, solvable_tasks
from support.tasks import small_task, walk

FULL = DominanceSettings(atomic=False, reduce_labels=False, shrink=False, limit_transitions=40)


def test_single_morphs_are_complete_and_in_order() -> None:
    for task in solvable_tasks(range(40)):
        function = DominanceFunction.compute(task, DominanceSettings(limit_transitions=40))
        for t in walk(task, 5, 1):
            expected = []
            for v, size in enumerate(task.domain_sizes):
                for x in range(size):
                    values = list(t.values)
                    values[v] = x
                    value = function.value(State(values), t)
                    if x != t[v] and value is not None:
                        expected.append((State(values), value))
            expected.sort(key=lambda pair: -pair[1])
            assert function.morphs(t) == expected
            assert function.morphs(t, 3) == expected[:3]


@pytest.mark.parametrize("settings", [DominanceSettings(merged=False), FULL])
def test_best_morphs_are_the_best_states_of_all(settings: DominanceSettings) -> None:
    """Without shrinking an abstract state of an atomic or merged factor is one assignment: nothing is left out."""
    for task in solvable_tasks(range(40)):
        function = DominanceFunction.compute(task, settings)
        if not function.solvable:
            continue
        truth = Truth.of(task)
        t = task.initial_state
        column = function.matrix(truth.states, np.array([t.values], dtype=np.int32))[:, 0]
        order = sorted(
            (-int(value), State(row))
            for value, row in zip(column.tolist(), truth.states.tolist(), strict=True)
            if value > MINUS_INFINITY and State(row) != t
        )
        for count in (1, 4, 1000):
            found = function.best_morphs(t, count)
            # States with the same value as the last one may stand in for each other.
            assert [value for _, value in found] == [-value for value, _ in order[:count]]
            assert set(found) <= {(state, -value) for value, state in order}
            assert len(set(found)) == len(found)
        assert function.best_morphs(t, 10**6) == [(state, -value) for value, state in order]


def test_best_morphs_of_several_factorings() -> None:
    for task in solvable_tasks(range(30)):
        function = DominanceFunction.compute(task, DominanceSettings(limit_transitions=40))
        found = function.best_morphs(task.initial_state, 30)
        assert all(function.value(s, task.initial_state) == value for s, value in found)
        assert [value for _, value in found] == sorted((v for _, v in found), reverse=True)
        assert all(s != task.initial_state for s, _ in found)


def test_morphs_of_a_real_task_change_several_variables() -> None:
    task = small_task("satellite-1")
    function = DominanceFunction.compute(task)
    found = function.best_morphs(task.initial_state, 50)
    assert found == function.best_morphs(task.initial_state, 50)
    differing = [
        sum(a != b for a, b in zip(s.values, task.initial_state.values, strict=True))
        for s, _ in found
    ]
    assert max(differing) > 1


def test_morphs_of_the_worked_example() -> None:
    function = DominanceFunction.compute(logistics(2, 1, goal=1), DominanceSettings(merged=False))
    t = State([1, 2])  # the package in the truck, at its goal
    assert function.morphs(t) == [(State([1, 0]), 1), (State([0, 2]), -1), (State([1, 1]), -3)]
    assert function.best_morphs(t, 2) == [(State([1, 0]), 1), (State([0, 0]), 0)]
    assert gripper(1).initial_state not in [s for s, _ in function.best_morphs(t, 9)]
