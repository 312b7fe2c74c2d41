"""Sketches as policies: all permitted steps, or one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep._core import CounterRandom
from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.native import NativePolicy
from misstep.policies.policy import NO_ACTION, Policy
from misstep.policies.sketch.policy import ChosenSketchPolicy, SketchPolicy
from misstep.tasks.census import state_space
from misstep.tasks.task import State, Task
from support.sketches import SKETCHES
from support.tasks import rows, small_task, walk


@pytest.fixture
def task() -> Task:
    return small_task("gripper-4-scattered")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sketch.txt"
    path.write_text(SKETCHES["gripper"])
    return path


def chosen(file: Path, task: Task, chooser: str) -> Policy:
    return load_policy(f"sketch:--choose={chooser} --width=0 {file}", task)


def test_the_set_of_permitted_steps_is_the_policy(file: Path, task: Task) -> None:
    policy = load_policy(f"sketch:--width=0 {file}", task)
    assert isinstance(policy, SketchPolicy)
    assert policy.set_valued
    assert policy.chooser is None
    states = rows(walk(task, 50, seed=1))
    permitted = policy.permitted(states)
    assert permitted.offsets.dtype == np.int64
    assert permitted.operators.dtype == np.int32
    assert np.diff(permitted.offsets).max() > 1
    empty = policy.permitted(states[:0])
    assert (empty.offsets.tolist(), empty.operators.tolist()) == ([0], [])
    assert chosen(file, task, "all").digest == policy.digest


@pytest.mark.parametrize("chooser", ["first", "last", "hash"])
def test_one_of_the_permitted_steps(chooser: str, file: Path, task: Task) -> None:
    whole, policy = chosen(file, task, "all"), chosen(file, task, chooser)
    assert isinstance(policy, NativePolicy)
    assert isinstance(policy, ChosenSketchPolicy)
    assert not policy.set_valued
    assert policy.chooser == chooser
    assert policy.digest != whole.digest
    states = state_space(task).states().astype(np.int32)
    offsets, operators = whole.permitted(states)
    answers = policy.decide(states)
    assert answers.evaluations > len(states)
    assert answers.problem(len(states), task) is None
    different = 0
    for row, values in enumerate(states.tolist()):
        among = operators[offsets[row] : offsets[row + 1]].tolist()
        expected = _expected(chooser, among, values)
        assert answers.operators[row] == expected
        different += expected != (among[0] if among else NO_ACTION)
    assert (different > 0) == (chooser != "first")


def _expected(chooser: str, among: list[int], values: list[int]) -> int:
    if not among:
        return NO_ACTION
    if chooser == "hash":
        return among[CounterRandom(0, _hash(values)).below(len(among))]
    return among[0 if chooser == "first" else -1]


def _hash(values: list[int]) -> int:
    """The hash that the documentation of sketches names."""
    state = len(values)
    for value in values:
        product = (state ^ value) * 0x9E3779B97F4A7C15
        state = ((product ^ (product >> 64)) + 1) & (2**64 - 1)
    return state


def test_the_choice_is_made_among_candidates(file: Path, task: Task) -> None:
    policy = chosen(file, task, "first")
    assert policy.chooses
    states = rows([task.initial_state])
    permitted = chosen(file, task, "all").permitted(states)
    last = permitted.operators[-1:]
    few = permitted._replace(offsets=np.array([0, 1]), operators=last)
    assert policy.decide(states, few).operators.tolist() == last.tolist()


def test_states_without_a_permitted_step(task: Task, file: Path) -> None:
    file.write_text(
        '(:policy (:numericals (n "n_count(c_bot)")) (:rule (:conditions) (:effects (:e_n_inc n))))'
    )
    states = rows(walk(task, 5, seed=1))
    for chooser in ("first", "last", "hash", "all"):
        assert set(chosen(file, task, chooser).decide(states).operators.tolist()) == {NO_ACTION}
    assert len(chosen(file, task, "all").permitted(states).operators) == 0


def test_a_rule_without_conditions_and_effects_permits_everything(task: Task, file: Path) -> None:
    file.write_text("(:policy (:rule (:conditions) (:effects)))")
    policy = chosen(file, task, "all")
    states = rows(walk(task, 20, seed=1))
    offsets, operators = policy.permitted(states)
    applicable = task.applicable_batch(states)
    assert offsets.tolist() == applicable[0].tolist()
    assert operators.tolist() == applicable[1].tolist()


def test_runs_reach_the_goal(file: Path, task: Task) -> None:
    policy = chosen(file, task, "hash")
    state = task.initial_state
    for _ in range(100):
        if task.is_goal(state):
            break
        state = task.apply(state, int(policy.decide(rows([state])).operators[0]))
    assert task.is_goal(state)


def test_the_width_is_for_the_user_to_confirm(file: Path, task: Task) -> None:
    with pytest.raises(UsageError) as caught:
        load_policy(f"sketch:{file}", task)
    assert "a sketch of width 1 or more is not a policy" in str(caught.value)
    assert f"sketch:--width=0 {file}" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UnsupportedError, match="a sketch of width 2 is not a policy"):
        load_policy(f"sketch:--width=2 {file}", task)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("sketch:--width=0", "sketch needs a file"),
        ("sketch:--choose=best --width=0 x", "--choose is best; expected first or last or hash or all"),
        ("sketch:--width=a x", "--width is a"),
        ("sketch:--chose=first x", "there is no option --chose"),
    ],
)  # fmt: skip
def test_bad_specs(spec: str, what: str, task: Task) -> None:
    with pytest.raises(UsageError) as caught:
        load_policy(spec, task)
    assert what in str(caught.value)


def test_a_batch_of_nonsense_is_refused(file: Path, task: Task) -> None:
    policy = chosen(file, task, "all")
    with pytest.raises(ValueError, match="value"):
        policy.permitted(np.full((1, task.variable_count), 99, np.int32))
    fractions: Any = np.zeros((1, task.variable_count))
    with pytest.raises(UsageError):
        policy.permitted(fractions)


def test_features_can_be_read(file: Path, task: Task) -> None:
    policy = chosen(file, task, "first")
    assert isinstance(policy, ChosenSketchPolicy)
    names = [feature.name for feature in policy.sketch.features]
    values = dict(zip(names, policy.features(rows([task.initial_state]))[0].tolist(), strict=True))
    assert values["held"] == values["home"] == 0
    carried = [
        op
        for op in task.applicable(task.initial_state)
        if task.operator_name(op).startswith("pick")
    ]
    state: State = task.apply(task.initial_state, carried[0])
    assert policy.features(rows([state]))[0][0] == 1
