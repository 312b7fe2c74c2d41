"""The ground truth of small JANI models agrees, state by state, with the plain evaluator and with every decider."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from misstep import _core
from misstep.policies.load import load_policy
from misstep.safety import (
    Answer,
    Decider,
    System,
    envelope,
    jani_transitions,
    safety_census,
)
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support.ground_truth import explore, faults, safe_states, values
from support.models import Choices, described
from support.plain_task import PlainTask
from support.safety import KINDS

MODELS: list[tuple[str, Choices]] = [
    ("one-way-line", {"cells": 5, "packages": 2, "vmax": 2, "ice": "0,2", "park": True}),
    ("two-way-line", {"cells": 4, "packages": 1, "vmax": 1, "ice": "1", "park": True}),
    ("blocksworld-cost", {"blocks": 3, "limit": 1, "max_cost": 1, "terminal": True}),
    ("n-puzzle", {"width": 2, "height": 2, "tile": 1, "cell": 1, "max_cost": 1, "terminal": True}),
    ("beluga", {"racks": 1, "lines": "0/1", "swaps": 4}),
]


@pytest.mark.parametrize("spec", ["first", "random:1"])
@pytest.mark.parametrize(("name", "choices"), MODELS, ids=described)
def test_every_state_agrees_with_the_plain_evaluator_and_the_deciders(
    name: str, choices: Choices, spec: str, tmp_path: Path
) -> None:
    instance = generate_model(name, **choices)
    write_model(instance, path := tmp_path / "model.jani")
    task = load_jani(path)
    handle = load_policy(spec, task)
    transitions = jani_transitions(task)
    system = System(transitions, handle.policy)
    space = task.space()
    truth = _core.jani_ground_truth(space, transitions, system.native, 2)
    number = {space.state(i): i for i in range(len(space))}

    plain = explore(PlainTask(instance.document))
    here = np.array([number[state] for state in plain.states])
    policy = [None if label < 0 else task.labels[label] for label in truth.decisions[here]]
    if spec == "first":
        assert policy == plain.policy()
    assert truth.deviations[here].tolist() == values(plain, policy, 2)
    assert truth.lost[here].tolist() == values(plain, policy, math.inf)
    assert set(np.flatnonzero(truth.faults[here])) == faults(plain, policy, math.inf)
    census = safety_census(task, handle)
    for radius in (0, 1, 2, math.inf):
        assert census.safe[str(radius)] == len(safe_states(plain, policy, radius))
    assert census.safe_initial == len(
        {i for i in safe_states(plain, policy, math.inf) if i < plain.initial}
    )
    for kind in KINDS:
        decider = Decider(system, kind)
        for i in range(0, len(space), 7):
            found = (
                decider.decide(space.state(i)).is_safe,
                decider.decide(space.state(i), 1).is_safe,
            )
            assert found == (truth.lost[i] == 0, truth.deviations[i] <= 1)


@pytest.mark.parametrize("inapplicable", ["filter", "stop_safe"])
@pytest.mark.parametrize(("name", "choices"), MODELS[:2], ids=described)
def test_bugs_are_safe_states_where_the_policy_is_not(
    name: str, choices: Choices, inapplicable: str, tmp_path: Path
) -> None:
    """They agree with all runs of the policy from each state, one state at a time."""
    write_model(generate_model(name, **choices), path := tmp_path / "model.jani")
    task = load_jani(path)
    stops = inapplicable == "stop_safe"
    space = task.space()
    states = [space.state(i) for i in range(len(space))]
    inner = [state for state, kind in zip(states, space.kinds, strict=True) if kind == 0]
    policy = {
        state: None if stops and sum(state) % 3 == 0 else task.labels[task.applicable(state)[0]]
        for state in inner
    }
    transitions = jani_transitions(task)
    system = System(transitions, policy, inapplicable=inapplicable)
    truth = _core.jani_ground_truth(space, transitions, system.native, 2)
    unsafe = [envelope(system, [state]).answer is Answer.NOT_SAFE for state in states]
    assert truth.bugs.tolist() == [
        not lost and gets for lost, gets in zip(truth.lost, unsafe, strict=True)
    ]
    assert truth.bugs.any()
    assert ((truth.decisions < 0) & (space.kinds == 0)).any() == stops


def test_a_system_over_other_states_is_refused(tmp_path: Path) -> None:
    write_model(
        generate_model("n-puzzle", width=2, height=2, tile=1, cell=1), path := tmp_path / "m.jani"
    )
    task = load_jani(path)
    system = System(jani_transitions(task), "first")
    with pytest.raises(ValueError, match="not over these transitions"):
        _core.jani_ground_truth(task.space(), jani_transitions(task), system.native, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "horizon", "grid", "safe"),
    [
        ("inverted-pendulum", 10, {"angle": (-0.7, 0.7, 15), "speed": (-2, 2, 9)}, 75),
        ("bouncing-ball", 30, {"h": (5, 9, 9), "v": (-1, 1, 5)}, 45),
    ],
)
def test_safe_starts_of_control_models(
    name: str,
    horizon: int,
    grid: dict[str, tuple[float, float, int]],
    safe: int,
    kind: str,
    tmp_path: Path,
) -> None:
    write_model(generate_model(name, horizon=horizon), path := tmp_path / "model.jani")
    task = load_jani(path)
    assert task.variable_names == (*grid, "t")
    decider = Decider(System(jani_transitions(task), "first"), kind)
    axes = [np.linspace(*axis).tolist() for axis in grid.values()]
    answers = [decider.decide((*point, 0)).answer for point in product(*axes)]
    assert answers.count(Answer.SAFE) == safe
    assert Answer.UNKNOWN not in answers
