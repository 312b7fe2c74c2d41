"""Risks agree with Storm in every state of generated and of random models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misstep.policies.load import load_policy
from misstep.safety.risk import RiskAnalysis, RiskSettings
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from support.risk_games import as_jani, random_game, write
from support.stormy import StormSpace

pytest.importorskip("stormpy", reason="stormpy is not installed")

TOLERANCE = 2e-6  # what Storm promises of its own numbers by default is 1e-6
GENERATED: list[tuple[str, dict[str, Any]]] = [
    ("one-way-line", {"cells": 5, "packages": 2, "vmax": 3, "drop": True}),
    ("one-way-line", {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "3"}),
    ("one-way-line", {"cells": 7, "packages": 2, "vmax": 3, "drop": True, "ice": "2,4"}),
    ("two-way-line", {"cells": 5, "packages": 2, "vmax": 3, "drop": True}),
    ("two-way-line", {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "2"}),
    ("blocksworld-cost", {"blocks": 3, "limit": 2, "max_cost": 2}),
    ("blocksworld-cost", {"blocks": 4, "limit": 3, "max_cost": 1}),
    ("n-puzzle", {"width": 2, "height": 2, "tile": 1, "cell": 3, "max_cost": 1}),
    ("n-puzzle", {"width": 3, "height": 2, "tile": 1, "cell": 4, "max_cost": 1}),
    ("beluga", {"racks": 1, "lines": "0,2/1", "swaps": 5}),
]


def compared(task: JaniTask, document: Any, folder: Path, policy: str = "first") -> int:
    handle = load_policy(policy, task)
    analysis = RiskAnalysis(task, handle, RiskSettings(runs=0))
    report = analysis.run()
    assert report.complete
    storm = StormSpace(document, task, folder)
    least = storm.probabilities("Pmin")
    chain = analysis._chain
    assert chain is not None
    decisions = {}
    for number in range(len(chain.space)):
        if chain.game.labels_of[number] < chain.game.labels_of[number + 1]:
            state = analysis.system.state(chain.space.id(number))
            decisions[state] = analysis._label(chain, number, 0)
    own = storm.under(decisions)
    count = 0
    for state, known in least.items():
        if analysis._all is None or analysis._all.space.number(analysis.system.id(state)) < 0:
            continue  # behind an unsafe state or a goal, where runs have ended
        found = analysis.risk_of(state)
        assert found.least.low - TOLERANCE <= known <= found.least.high + TOLERANCE, state
        if chain.space.number(analysis.system.id(state)) >= 0:
            assert found.policy.low - TOLERANCE <= own[state] <= found.policy.high + TOLERANCE, (
                state
            )
        count += 1
    assert count == report.states
    return count


@pytest.mark.parametrize(("name", "choices"), GENERATED, ids=lambda x: str(x)[:60])
def test_risks_of_generated_models_agree_with_storm(
    name: str, choices: dict[str, Any], tmp_path: Path
) -> None:
    model = generate_model(name, **choices)
    (text,) = model.files.values()
    compared(load_jani(model), json.loads(text), tmp_path)


@pytest.mark.parametrize("seed", range(14))
def test_risks_of_random_models_agree_with_storm(seed: int, tmp_path: Path) -> None:
    document = as_jani(random_game(seed, inner=12, labels=3))
    compared(load_jani(write(document, tmp_path / "m.jani")), document, tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_risks_within_a_number_of_steps_agree_with_storm(seed: int, tmp_path: Path) -> None:
    document = as_jani(random_game(seed, inner=12, labels=3))
    task = load_jani(write(document, tmp_path / "m.jani"))
    report = RiskAnalysis(task, load_policy("first", task), RiskSettings(steps=4)).run()
    known = StormSpace(document, task, tmp_path).probabilities("Pmin", 4)
    for start in report.starts:
        assert start.least.low - 1e-9 <= known[start.state] <= start.least.high + 1e-9
