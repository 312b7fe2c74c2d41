"""Views of states, in both worlds: what they show, and that they are values."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.tasks.jani.state_view import Label, ModelStateBatch, ModelStateView
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.state_view import Action, Facts, StateBatch, StateView
from misstep.tasks.task import Task
from support import jani
from support.tasks import SMALL, rows, small_task, walk


@pytest.fixture
def task() -> Task:
    return small_task("gripper-4")


@pytest.fixture
def view(task: Task) -> StateView:
    return StateView(task.initial_state, task)


@pytest.fixture
def model() -> JaniTask:
    return jani.task(jani.TINY_LINE)


# -- facts ----------------------------------------------------------------------------------------


def test_facts_are_ordered_and_found_in_any_spelling(task: Task, view: StateView) -> None:
    assert list(view.facts) == task.facts(task.initial_state)
    as_before: Any = frozenset(task.facts(task.initial_state))
    assert view.facts == as_before
    assert hash(view.facts) == hash(frozenset(view.facts))
    for spelling in (
        "at(ball1, rooma)",
        "at(ball1,rooma)",
        "(at ball1 rooma)",
        "AT( ball1 , rooma )",
    ):
        other = spelling.replace("rooma", "room-a")
        assert other in view.facts
        assert other.replace("ball1", "ball9") not in view.facts
    number: Any = 7
    assert number not in view.facts
    assert "" not in view.facts
    assert view.facts[0] == next(iter(view.facts))
    assert view.facts & {"at(ball1, room-a)", "x()"} == {"at(ball1, room-a)"}
    assert repr(Facts(["a()", "b(x)"])) == "Facts(a(), b(x))"


@pytest.mark.parametrize("name", sorted(SMALL))
def test_all_facts_are_those_of_the_problem_at_the_start(name: str) -> None:
    """In the initial state nothing but the PDDL file says what is true."""
    task = small_task(name)
    written = {f"{atom.predicate}({', '.join(atom.terms)})" for atom in task.lifted.init}
    view = StateView(task.initial_state, task)
    known = set(task.vocabulary.facts)
    # What can never become relevant is in the file only if it is true there.
    assert set(view.atoms) == written
    assert set(view.facts) == written & known
    for state in walk(task, 20, seed=1):
        later = StateView(state, task)
        assert set(later.atoms) - set(later.facts) == written - known


def test_goals_and_objects(task: Task, view: StateView) -> None:
    assert set(view.goals) == {f"at(ball{i}, room-b)" for i in range(1, 5)}
    assert view.open_goals == view.goals
    assert not view.is_goal
    assert view.objects is StateView(task.initial_state, task).objects
    assert "room-a" in view.objects["object"]
    carried = view.after("pick ball1 room-a left").after("move room-a room-b")
    dropped = carried.after("drop ball1 room-b left")
    assert set(dropped.open_goals) == set(view.goals) - {"at(ball1, room-b)"}
    transport = small_task("transport-2")
    objects = StateView(transport.initial_state, transport).objects
    assert set(objects["locatable"]) == {*objects["vehicle"], *objects["package"]}


def test_a_sas_file_has_no_objects(task: Task) -> None:
    bare = Task(task.sas)
    view = StateView(bare.initial_state, bare)
    assert view.facts == StateView(task.initial_state, task).facts
    assert view.goals
    for name in ("objects", "atoms"):
        with pytest.raises(UnsupportedError, match="load the task from its PDDL files"):
            getattr(view, name)


# -- operators ------------------------------------------------------------------------------------


def test_actions_are_operators_taken_apart(task: Task, view: StateView) -> None:
    assert [action.name for action in view.actions] == view.operators
    assert [action.number for action in view.actions] == task.applicable(task.initial_state)
    pick = next(a for a in view.actions if a.name == "pick ball2 room-a left")
    assert (pick.schema, pick.arguments, pick.cost) == ("pick", ("ball2", "room-a", "left"), 1)
    assert str(pick) == pick.name
    for same in (pick, pick.name, f"({pick.name.upper()})", pick.number, np.int64(pick.number)):
        assert view.after(same) == StateView(task.apply(view.state, pick.number), task)
    assert [(action, view.after(action)) for action in view.actions] == view.successors()
    drop = task.operators_named("drop ball1 room-a left")[0]
    with pytest.raises(Exception, match="carry"):
        view.after(drop)
    with pytest.raises(UsageError, match="the task has no operator -1"):
        view.after(-1)
    assert task.vocabulary.action(pick.number) is pick
    assert isinstance(pick, Action)


# -- arrays and values ----------------------------------------------------------------------------


def test_arrays_say_the_same_as_facts(task: Task) -> None:
    states = walk(task, 15, seed=3)
    batch = StateBatch(rows(states), task)
    assert batch.array.tolist() == [list(state.values) for state in states]
    assert not batch.array.flags.writeable
    names = task.vocabulary.facts
    for view, row in zip(batch, batch.fact_array, strict=True):
        assert {names[i] for i in np.flatnonzero(row)} == set(view.facts)
        assert view.fact_array.tolist() == row.tolist()
        assert view.array.tolist() == list(view.values)
        assert np.flatnonzero(view.mask).tolist() == task.applicable(view.state)
    assert batch.mask.tolist() == [view.mask.tolist() for view in batch]
    assert batch[1] is batch[1]
    assert batch[-1] == batch[15]
    assert [view.state for view in batch[2:4]] == states[2:4]
    assert repr(batch).startswith("<StateBatch of 16 states")


def test_views_are_values(task: Task, view: StateView) -> None:
    same = StateView(task.initial_state, pickle.loads(pickle.dumps(task)))
    assert view == same == pickle.loads(pickle.dumps(view))
    assert len({view, same, view.after(view.actions[0])}) == 2
    assert view != task.initial_state
    assert str(view) == ", ".join(view.facts)
    assert repr(view) == f"<StateView {view}>"


# -- models ---------------------------------------------------------------------------------------


def test_a_model_state_is_a_dictionary(model: JaniTask) -> None:
    view = ModelStateView((0, 1, 0), model)
    assert view == {"pos": 0, "vel": 1, "crash": 0}
    assert json.loads(json.dumps(view)) == {**view}
    assert view["vel"] == view.get("vel") == 1
    assert list(view.values()) == list(view.state) == view.array.tolist()
    assert hash(view) == hash(ModelStateView((0, 1, 0), model))
    assert pickle.loads(pickle.dumps(view)) == view
    assert str(view) == "pos=0, vel=1, crash=0"
    assert repr(view) == f"<ModelStateView {view}>"
    assert not view.is_goal
    assert not view.is_unsafe


def test_labels_and_successors_of_a_model(model: JaniTask) -> None:
    view = ModelStateView((0, 1, 0), model)
    assert view.labels == tuple(model.labels[i] for i in model.applicable((0, 1, 0)))
    assert [label.name for label in view.actions] == list(view.labels)
    for label, after in view.successors():
        assert [v.state for v in after] == model.outcomes((0, 1, 0), label.number)
        assert view.after(label.name) == view.after(label.number) == after
    with pytest.raises(UsageError, match="no label 9"):
        view.after(9)
    with pytest.raises(UsageError, match="no label 'fly'"):
        view.after("fly")
    assert str(Label(0, "acc")) == "acc"


def test_looking_ahead_does_not_touch_the_engine_that_asks(model: JaniTask) -> None:
    engine = model.new_engine()
    view = ModelStateView.of_id(engine.intern((0, 1, 0)), model, engine)
    count = len(engine)
    for _, after in view.successors():
        for state in after:
            state.successors()
    assert len(engine) == count


def test_batches_of_a_model(model: JaniTask) -> None:
    states: list[Any] = [(0, 0, 0), (0, 1, 0), (1, 1, 0)]
    engine = model.new_engine()
    batch = ModelStateBatch([engine.intern(s) for s in states], model, engine)
    assert batch.array.tolist() == [list(map(float, s)) for s in states]
    assert [view.state for view in batch] == states
    assert [view.state for view in batch[1:]] == states[1:]
    assert "3 states" in repr(batch)
    for view, row in zip(batch, batch.mask, strict=True):
        assert np.flatnonzero(row).tolist() == model.applicable(view.state)
