"""Risks by the checker agree with exact fractions and with the engine, and forged claims are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.campaign import check_campaign
from misstep.checking.jani import SafetyTask
from misstep.checking.model_risk import TooLargeError, least_risks, policy_risks
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model
from support.risk_games import SmallGame, as_jani, exact_values, random_game

LINE: dict[str, Any] = {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "3"}


def checked(game: SmallGame) -> SafetyTask:
    return SafetyTask(as_jani(game))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("labels", "edges"), [(1, 1), (3, 1), (2, 2)])
def test_bounds_hold_for_exact_fractions(seed: int, labels: int, edges: int) -> None:
    game = random_game(seed, inner=3, labels=labels, edges=edges)
    least = least_risks(checked(game)).of((0,))
    assert Fraction(least[0]) <= exact_values(game)[0] <= Fraction(least[1])
    first = exact_values(game.under([0] * len(game.kinds)))[0]
    own = policy_risks(checked(game), {(s,): 0 for s in game.inner}).of((0,))
    assert Fraction(own[0]) <= first <= Fraction(own[1])
    if edges == 1:
        assert max(least[1] - least[0], own[1] - own[0]) < 1e-9


def test_what_is_too_large_or_not_stored_is_reported() -> None:
    game = random_game(3, inner=8, labels=2)
    with pytest.raises(TooLargeError, match="more than 2 states"):
        least_risks(checked(game), 2).of((0,))
    with pytest.raises(TooLargeError, match="not all stored"):
        policy_risks(checked(game), {}).of((0,))


# -- campaigns ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("risk") / "line"
    run_campaign(
        load_jani(generate_model("one-way-line", **LINE)), "first", out=folder, runs=40, risk=True
    )
    return folder


def changed(campaign: Path, to: Path, *statements: str) -> list[str]:
    """What a replay says about a changed copy. The seal is removed, so that only the checker can find the change."""
    to.mkdir()
    with (
        closing(sqlite3.connect(campaign / "run.db")) as source,
        closing(sqlite3.connect(to / "run.db")) as copy,
    ):
        source.backup(copy)
        for statement in statements:
            assert copy.execute(statement).rowcount != 0
        copy.execute("DELETE FROM meta WHERE key = 'seal'")
        copy.commit()
    report = check_campaign(to)
    return [finding.problem for finding in report.findings if finding.problem is not None]


def test_right_risks_pass(campaign: Path) -> None:
    opened = open_campaign(campaign)
    records = opened.records
    assert any(record.run.avoidable for record in records)
    for record in records:
        assert record.run.risk is not None
        assert record.run.least_risk is not None
    report = check_campaign(campaign)
    assert report.valid
    assert report.checked["risks"] == 2 * len(records)
    assert report.not_checked["risks"] == 0


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE risks SET low = 0.5, high = 0.5 WHERE number = 0", "the policy's own"),
        ("UPDATE risks SET low = 0.0, high = 0.999999 WHERE number = 0", "the policy's own"),
        ("UPDATE risks SET least_low = 0.5, least_high = 0.6", "the least possible"),
        ("UPDATE risks SET least_high = 0.00999999, least_low = 0 WHERE number = 0", "the least"),
        ("UPDATE risks SET low = 0.9, high = 0.1", "not probabilities"),
        ("UPDATE risks SET low = 'x'", "not probabilities"),
        ("UPDATE risks SET high = 1.5", "not probabilities"),
        ("UPDATE risks SET least_low = -1", "not probabilities"),
        ("UPDATE decisions SET label = 3 WHERE label = 2", "otherwise than in its run"),
        ("UPDATE decisions SET label = 99", "not a label"),
        ("UPDATE decisions SET state = '[]' WHERE rowid = 1", "not a state"),
    ],
)
def test_forged_risks_are_refused(
    statement: str, expected: str, campaign: Path, tmp_path: Path
) -> None:
    problems = changed(campaign, tmp_path / "forged", statement)
    assert problems
    assert any(expected in problem for problem in problems)


def test_without_decisions_the_policys_risk_is_not_checked(campaign: Path, tmp_path: Path) -> None:
    to = tmp_path / "without"
    assert changed(campaign, to, "DELETE FROM decisions") == []
    report = check_campaign(to)
    assert report.not_checked["risks"] > 0
    assert report.checked["risks"] > 0
