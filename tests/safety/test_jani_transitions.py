"""JANI tasks as transition systems: the pipeline on the tiny line, and the same answers as the plain evaluator."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from misstep._core import CounterRandom
from misstep.checking.jani import ModelError, State
from misstep.errors import InputFormatError
from misstep.policies.load import load_policy
from misstep.safety import (
    Answer,
    Decider,
    FuzzSettings,
    OracleShield,
    System,
    analyse_all,
    check_strategy,
    envelope,
    fuzz,
    jani_transitions,
)
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.jani.task import State as JaniState
from misstep.tasks.models import generate_model, write_model
from support import jani
from support.models import GOLDEN, VARIANTS, Choices, described
from support.plain_task import PlainTask
from support.safety import KINDS

START = (0, 0, 0)
ANSWERS: dict[State, str] = {
    (0, 0, 0): "nnYY",
    (0, 1, 0): "nnYY",
    (1, 1, 0): "nYYY",
    (1, 0, 0): "nYYY",
    (2, 0, 0): "YYYY",
}


def tiny() -> tuple[JaniTask, System[JaniState, str]]:
    task = jani.task(jani.TINY_LINE)
    return task, System(jani_transitions(task), load_policy("first", task).policy)


def test_states_and_labels_by_name() -> None:
    task, system = tiny()
    id = system.id(START)
    assert system.state(id) == START
    assert task.engine.find(START) == id  # the same states as the task's own
    assert [system.label(i) for i in range(2)] == ["acc", "dec"]
    assert system.transitions.label_id("dec") == 1
    with pytest.raises(InputFormatError, match="no label 'park'"):
        system.transitions.label_id("park")
    with pytest.raises(InputFormatError, match="no state"):
        system.id((0, 0))
    with pytest.raises(InputFormatError):
        system.id((9, 0, 0))
    with pytest.raises(IndexError):
        system.state(10**6)
    with pytest.raises(IndexError):
        system.label(2)
    assert system.native.sample(CounterRandom(0)) == id


@pytest.mark.parametrize("kind", KINDS)
def test_answers_on_the_tiny_line(kind: str) -> None:
    task, system = tiny()
    decider = Decider(system, kind)
    for number in range(len(space := task.space())):
        state = space.state(number)
        for radius, answer in zip((0, 1, 2, math.inf), ANSWERS.get(state, "nnnn"), strict=True):
            decided = decider.decide(state, radius)
            assert decided.answer is (Answer.SAFE if answer == "Y" else Answer.NOT_SAFE)
            if decided.is_safe:
                check_strategy(system, decider.strategy(state, radius))


def test_the_pipeline_on_the_tiny_line() -> None:
    _, system = tiny()
    report = fuzz(system, FuzzSettings("sample", 1, runs=200), seed=1)
    assert report.ends["unsafe"] == 200
    decider = Decider(system)
    found = analyse_all(decider, report.runs)
    assert {(fault.state, fault.label) for fault in found.faults} == {
        ((0, 1, 0), "acc"),
        ((1, 1, 0), "acc"),
    }
    assert envelope(OracleShield(decider).system, [START]).answer is Answer.SAFE


def test_a_model_that_leaves_its_bounds_is_an_error_in_one_line() -> None:
    document = jani.model(
        [jani.variable("x", jani.bounded(0, 2), 0)],
        [jani.edge("a", True, jani.destination({"x": jani.op("+", "x", 1)}))],
        actions="a",
    )
    task = jani.task(document)
    system = System(jani_transitions(task), "first")
    with pytest.raises(InputFormatError, match="x"):
        fuzz(system, FuzzSettings("uniform", 1, runs=1))
    assert system.native.actions(system.id((0,)))  # still of use


def same_answers(system: System[JaniState, str], plain: PlainTask, state: JaniState) -> None:
    id = system.id(state)
    assert system.native.fresh_flags(id) == (
        1 if plain.is_unsafe(state) else 2 if plain.is_goal(state) else 0
    )
    if plain.is_unsafe(state) or plain.is_goal(state):
        return
    try:
        expected = plain.outcomes(state)
    except ModelError:
        with pytest.raises(InputFormatError):
            system.native.fresh_expansion(id)
        return
    labels, offsets, outcomes = system.native.fresh_expansion(id)
    assert {
        str(system.label(label)): list(system.states(outcomes[offsets[i] : offsets[i + 1]]))
        for i, label in enumerate(labels)
    } == expected
    assert [system.label(label) for label in labels] == sorted(
        expected, key=lambda name: system.transitions.label_id(name)
    )
    engine = system.transitions.engine  # type: ignore[attr-defined]
    for i, label in enumerate(labels):
        likely = plain.probabilities(state, str(system.label(label)))
        own = system.states(outcomes[offsets[i] : offsets[i + 1]])
        assert dict(zip(own, engine.probabilities(id, label), strict=True)) == pytest.approx(likely)


@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_random_states_are_as_in_the_plain_evaluator(
    name: str, choices: Choices, tmp_path: Path
) -> None:
    """The states are random values within the bounds, most of them unreachable, and states of random walks."""
    instance = generate_model(name, **choices)
    write_model(instance, path := tmp_path / "model.jani")
    task = load_jani(path)
    system = System(jani_transitions(task))
    plain = PlainTask(instance.document)
    dice = random.Random(name)
    for _ in range(60):
        drawn = tuple(
            dice.random() < 0.5
            if kind == "bool"
            else dice.randint(int(low or 0), int(high or 0))
            if kind == "int"
            else dice.uniform(float(low or 0), float(high or 0))
            for _, kind, low, high in task.variables
        )
        same_answers(system, plain, drawn)
    for number in range(4):
        id = system.native.sample(CounterRandom(1, number))
        for _ in range(12):
            same_answers(system, plain, system.transitions.state(id))
            actions = system.native.actions(id)
            if not actions:
                break
            id = dice.choice(dice.choice(actions)[1])


@pytest.mark.parametrize(("name", "choices", "_expected"), GOLDEN, ids=described)
def test_whole_spaces_are_as_in_the_plain_evaluator(
    name: str, choices: Choices, _expected: object, tmp_path: Path
) -> None:
    instance = generate_model(name, **choices)
    write_model(instance, path := tmp_path / "model.jani")
    task = load_jani(path)
    system = System(jani_transitions(task))
    plain = PlainTask(instance.document)
    space = task.space()
    assert {space.state(i) for i in range(space.root_count)} == set(plain.starts())
    for number in range(len(space)):
        same_answers(system, plain, space.state(number))
