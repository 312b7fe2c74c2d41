"""Deciders on JANI models under random policies and networks, against the ground truth of the whole space."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest

from misstep import _core
from misstep.policies.load import load_policy
from misstep.policies.networks.nnet import write_nnet
from misstep.safety import (
    Decider,
    FuzzSettings,
    OracleShield,
    System,
    analyse_all,
    check_strategy,
    fuzz,
    jani_transitions,
)
from misstep.tasks.jani.interface import write_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support.models import Choices, described
from support.networks import random_mlp
from support.safety import KINDS

MODELS: list[tuple[str, Choices]] = [
    ("one-way-line", {"cells": 7, "packages": 3, "drop": True, "ice": "3", "park": True}),
    ("two-way-line", {"cells": 6, "packages": 3, "drop": True, "ice": "2", "park": True}),
    ("blocksworld-cost", {"blocks": 4, "limit": 2, "max_cost": 1}),
    ("n-puzzle", {"width": 2, "height": 2, "tile": 1, "cell": 3, "max_cost": 2}),
    ("beluga", {"racks": 1, "lines": "0,2/1", "swaps": 5}),
]


@pytest.mark.soundness
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "choices"), MODELS, ids=described)
def test_deciders_agree_with_the_ground_truth_of_models(
    name: str, choices: Choices, kind: str, tmp_path: Path
) -> None:
    write_model(generate_model(name, **choices), path := tmp_path / "model.jani")
    task = load_jani(path)
    inputs = list(task.variable_names)
    write_nnet(random_mlp([len(inputs), 16, len(task.labels)], 1), tmp_path / "net.nnet")
    write_interface(
        tmp_path / "net.jani2nnet",
        network=tmp_path / "net.nnet",
        inputs=inputs,
        labels=task.labels,
    )
    space = task.space()
    dice = Random(name + kind)
    for spec in ("first", "random:1", str(tmp_path / "net.nnet")):
        transitions = jani_transitions(task)
        system = System(transitions, load_policy(spec, task).policy)
        truth = _core.jani_ground_truth(space, transitions, system.native, 2)
        decider = Decider(system, kind)
        picked = dice.sample(range(len(space)), min(400, len(space)))
        for i in picked:
            state = space.state(i)
            for radius in dice.sample((0, 1, 2, math.inf), 4):
                expected = (
                    truth.lost[i] == 0 if radius == math.inf else truth.deviations[i] <= radius
                )
                assert decider.decide(state, radius).is_safe == expected
                if expected and space.kinds[i] == 0 and i % 5 == 0:
                    check_strategy(system, decider.strategy(state, radius))
        # What the pipeline calls a fault is one.
        number = {space.state(int(i)) for i in np.flatnonzero(truth.faults)}
        report = fuzz(system, FuzzSettings("sample", 2, runs=100, max_steps=60))
        for fault in analyse_all(decider, report.runs).faults:
            assert fault.state in number
        # A shielded run from a safe state never becomes unsafe.
        safe = [space.state(i) for i in picked if truth.lost[i] == 0 and space.kinds[i] == 0]
        if safe:
            shielded = OracleShield(decider).system
            runs = fuzz(shielded, FuzzSettings("sample", 1, runs=50, max_steps=200), starts=safe)
            assert runs.ends["unsafe"] == 0
