"""Fast successors, predecessors and batches against their naive twins, on every state of small tasks."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.checking import parse_sas
from misstep.checking.semantics import apply, is_applicable, is_goal
from misstep.errors import UnsupportedError
from misstep.tasks.task import State, Task
from support.tasks import CONDITIONAL, SMALL, rows, small_task, walk


def every_state(task: Task) -> list[State]:
    space = StateSpace(task, [task.initial_state])
    return [space.state(s) for s in range(len(space))]


@pytest.mark.parametrize("name", SMALL)
def test_fast_and_naive_agree_on_every_state(name: str) -> None:
    task = small_task(name)
    for state in every_state(task):
        assert task.applicable(state) == task.applicable_naive(state)


@pytest.mark.parametrize("name", SMALL)
def test_predecessors_invert_successors(name: str) -> None:
    task = small_task(name)
    states = every_state(task)
    known = set(states)
    forward = {(s, op, task.apply(s, op)) for s in states for op in task.applicable(s)}
    backward = {
        (before, op, t) for t in states for op, before in task.predecessors(t) if before in known
    }
    assert forward == backward
    for t in states[:50]:
        for op, before in task.predecessors(t):
            assert task.apply(before, op) == t


def independent_check(task: Task, states: list[State]) -> None:
    """The core against the checker, which shares no code with it."""
    twin = parse_sas(task.sas.decode(), task.name)
    for state in states:
        values = state.values
        expected = [i for i, op in enumerate(twin.operators) if is_applicable(values, op)]
        assert task.applicable(state) == expected
        assert task.is_goal(state) == is_goal(values, twin)
        for op in expected:
            assert task.apply(state, op).values == apply(values, twin.operators[op])


@pytest.mark.parametrize("name", ["blocksworld-4", "floortile-2x2", "satellite-1", "visitall-3x3"])
def test_core_agrees_with_the_independent_checker(name: str) -> None:
    task = small_task(name)
    independent_check(task, walk(task, 100, seed=3))


def test_conditional_effects_agree_with_the_independent_checker() -> None:
    task = Task(CONDITIONAL.encode())
    assert task.has_conditional_effects
    states = every_state(task)
    assert len(states) > 15
    independent_check(task, states)
    array = rows(states)
    offsets, operators = task.applicable_batch(array)
    repeated = np.repeat(array, np.diff(offsets), axis=0)
    for row, op, result in zip(
        repeated, operators, task.apply_batch(repeated, operators), strict=True
    ):
        assert task.apply(State(row.tolist()), int(op)).values == tuple(result)
    with pytest.raises(UnsupportedError, match=r"predecessor generator.*\(op1\)"):
        task.predecessors(task.initial_state)


@pytest.mark.parametrize("name", SMALL)
def test_batches_agree_with_single_states(name: str) -> None:
    task = small_task(name)
    states = every_state(task)
    array = rows(states)
    offsets, operators = task.applicable_batch(array)
    goals = task.is_goal_batch(array)
    for i, state in enumerate(states):
        own = operators[offsets[i] : offsets[i + 1]]
        assert own.tolist() == task.applicable(state)
        assert bool(goals[i]) == task.is_goal(state)
        if len(own):
            result = task.apply_batch(np.repeat(array[i : i + 1], len(own), axis=0), own)
            assert [tuple(row) for row in result] == [task.apply(state, op).values for op in own]


def test_batches_refuse_what_makes_no_sense() -> None:
    task = small_task("gripper-4")
    good = rows([task.initial_state])
    bad = good.copy()
    bad[0, 1] = 99
    with pytest.raises(ValueError, match="row 0: variable 1 has no value 99"):
        task.applicable_batch(bad)
    with pytest.raises(ValueError, match="columns"):
        task.applicable_batch(np.zeros((1, 2), dtype=np.int32))
    inapplicable = next(
        op for op in range(task.operator_count) if op not in task.applicable(task.initial_state)
    )
    with pytest.raises(ValueError, match=r"row 0: operator .* does not apply: it requires Atom"):
        task.apply_batch(good, np.array([inapplicable], dtype=np.int32))
    with pytest.raises(IndexError, match="operator 9999 does not exist"):
        task.apply_batch(good, np.array([9999], dtype=np.int32))
    with pytest.raises(ValueError, match="as many operators"):
        task.apply_batch(good, np.array([0, 0], dtype=np.int32))
    assert task.applicable_batch(np.zeros((0, task.variable_count), dtype=np.int32))[
        0
    ].tolist() == [0]


def test_an_inapplicable_operator_is_an_error_that_names_the_precondition() -> None:
    task = small_task("gripper-4")
    drop = next(
        op for op in range(task.operator_count) if task.operator_name(op).startswith("drop")
    )
    with pytest.raises(ValueError, match=r"operator \(drop .*requires Atom carry"):
        task.apply(task.initial_state, drop)
    with pytest.raises(IndexError):
        task.apply(task.initial_state, -1)
    with pytest.raises(ValueError, match="variables"):
        task.applicable(State([0]))
