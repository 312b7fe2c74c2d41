"""Does Misstep find planted unsafe decisions in models with its default settings, and blame them?

Each policy is safe wherever that is possible, but for one planted kind of decision. That the decision gives safety
away, and that no other does, is shown by all states of the model.
"""

from __future__ import annotations

from typing import Any

import pytest

from misstep.campaigns.testing import test as run_test
from support.planted import PERFECT, ModelPlant, ModelTruth

SEEDS = range(4)


def among(state: dict[str, Any], truth: ModelTruth, *labels: str) -> Any:
    """The first of the labels that applies; else the safe one."""
    applicable = truth.labels(truth.named(state))
    return next((label for label in labels if label in applicable), PERFECT)


def best(state: dict[str, Any], truth: ModelTruth) -> str | None:
    return truth.best(truth.named(state))


# -- the plants -----------------------------------------------------------------------------------


def brakes_too_late(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Accelerates near the end of the line where it should brake."""
    if best(state, truth) == "dec" and state["pos"] >= 3:
        return among(state, truth, "acc", "move")
    return PERFECT


def leaves_a_package_behind(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Drives on where the second package lies: there is no way back, and no goal without it."""
    if best(state, truth) == "pick" and state["cargo"] == 1:
        return among(state, truth, "acc")
    return PERFECT


def does_not_brake_backwards(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Is right on the way there, and too fast on the way back."""
    if state["vel"] < 0 and state["pos"] <= 1:
        return among(state, truth, "dec", "move")
    return PERFECT


def crowds_the_table(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Puts one block too many on the table."""
    if not state["hand_empty"] and state["table"] == 3:
        return among(state, truth, "table")
    return PERFECT


def moves_the_wrong_tile(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Moves the tile onto the forbidden cell when two other tiles lie in one arrangement."""
    if (state["tile_2"], state["tile_3"]) != (0, 2):
        return PERFECT
    here = truth.named(state)
    return next((label for label in truth.labels(here) if not truth.is_safe(here, label)), PERFECT)


def wastes_a_swap(state: dict[str, Any], truth: ModelTruth) -> Any:
    """Pushes a jig into the rack when it can afford no more than the swaps that it needs."""
    if state["swaps"] >= 3:
        return among(state, truth, "push_front_0", "push_back_0", "send")
    return PERFECT


PLANTS = [
    ModelPlant(
        "brakes too late",
        "one-way-line",
        {"cells": 6, "packages": 2, "vmax": 3, "drop": True},
        brakes_too_late,
    ),
    ModelPlant(
        "leaves a package behind",
        "one-way-line",
        {"cells": 6, "packages": 2, "vmax": 3},
        leaves_a_package_behind,
    ),
    ModelPlant(
        "does not brake backwards",
        "two-way-line",
        {"cells": 6, "packages": 2, "vmax": 3, "drop": True},
        does_not_brake_backwards,
    ),
    ModelPlant(
        "crowds the table",
        "blocksworld-cost",
        {"blocks": 4, "limit": 3, "max_cost": 2},
        crowds_the_table,
    ),
    ModelPlant(
        "moves the wrong tile",
        "n-puzzle",
        {"width": 3, "height": 2, "max_cost": 1, "tile": 1, "cell": 5},
        moves_the_wrong_tile,
        runs=1000,  # the default; 100 runs find it with one seed of these four: few runs start near such a state
    ),
    ModelPlant(
        "wastes a swap", "beluga", {"racks": 1, "lines": "0,2/1", "swaps": 5}, wastes_a_swap
    ),
]


def campaigns_that_find(plant: ModelPlant, truth: ModelTruth) -> int:
    """How many campaigns find a bug and blame the plant; nothing else may be called a bug or be blamed."""
    planted = plant.faults(truth)
    assert planted, "the plant is no bug"
    found = 0
    for seed in SEEDS:
        campaign = run_test(truth.task, plant.policy(truth), runs=plant.runs, seed=seed)
        for record in campaign.records:
            assert (record.verdict == "BUG") == (tuple(record.state) in truth.safe)
        blamed = {tuple(fault.state) for fault in campaign.faults}
        assert blamed <= planted, "a decision is blamed that keeps safe"
        assert blamed or not campaign.bugs, "a bug, and nobody is blamed"
        found += bool(blamed)
    return found


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name.replace(" ", "-"))
def test_planted_faults_are_found_and_blamed(plant: ModelPlant) -> None:
    truth = plant.truth()
    assert campaigns_that_find(plant, truth) == len(SEEDS)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name.replace(" ", "-"))
def test_a_safe_policy_has_no_bugs(plant: ModelPlant) -> None:
    truth = plant.truth()
    safe = ModelPlant("safe", plant.model, plant.choices, lambda *_: PERFECT)
    assert safe.faults(truth) == set()
    for seed in range(2):
        campaign = run_test(truth.task, safe.policy(truth), runs=plant.runs, seed=seed)
        assert not campaign.bugs
        assert not campaign.faults
        assert campaign.summary.runs == plant.runs
