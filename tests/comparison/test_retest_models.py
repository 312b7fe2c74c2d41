"""Retests of policies of models that fail or are left open claim nothing and raise no error."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.seal import seal_from_scratch
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.jani.task import JaniTask
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable

UNSAFE, GOAL = 1, 3


def fork() -> JaniTask:
    """0 leads to 4 by any label. From there `a` is unsafe, and `b` leads to 2, where `a` leads to the goal."""
    moves = {
        (0, "a"): 4,
        (0, "b"): 4,
        (4, "a"): UNSAFE,
        (4, "b"): 2,
        (2, "a"): GOAL,
        (2, "b"): UNSAFE,
    }
    return jani.task(
        jani.model(
            [variable("s", bounded(0, 4), 0)],
            [
                edge(label, op("=", "s", s), destination({"s": t}))
                for (s, label), t in moves.items()
            ],
            actions="a b",
            prop=pa(op("=", "s", UNSAFE), op("=", "s", GOAL), op("=", "s", 0)),
        )
    )


def careless(_: Mapping[str, Any]) -> str:
    return "a"


def failing(state: Mapping[str, Any]) -> str:
    if state["s"] == 2:
        raise RuntimeError("it does not know this state")
    return "a"


@pytest.mark.parametrize("radius", [1, 2])
def test_a_policy_that_fails_within_the_radius_leaves_states_open(
    tmp_path: Path, radius: int
) -> None:
    """The oracle has to know what the policy does behind a deviation, and the policy does not say."""
    with run_campaign(fork(), careless, runs=5, radius=radius, out=tmp_path / "one") as found:
        assert [bug.state for bug in found.bugs] == [(0,), (4,)]
        retest = found.retest(failing, out=tmp_path / "two")
    again = retest.campaign
    assert retest.counts["undecided"] == 2
    assert (retest.by_witnesses, retest.by_oracles) == (0, 0)  # nobody has decided anything
    assert [(own.run.outcome, own.verdict) for own in again.records] == [("unsafe", "UNKNOWN")] * 2
    assert not any(own.faults for own in again.records)
    assert again.replay().ok
    assert again.replay(full=True).ok


def test_a_fault_in_a_state_that_its_own_record_leaves_open(tmp_path: Path) -> None:
    """A budget may leave a state open, and a later question about another run may decide it: no contradiction."""
    with run_campaign(fork(), careless, runs=5, out=tmp_path / "one") as found:
        found.retest(careless, out=tmp_path / "two").campaign.close()
    with closing(sqlite3.connect(tmp_path / "two" / "run.db", isolation_level=None)) as database:
        (number,) = database.execute("SELECT number FROM states WHERE state = '[4]'").fetchone()
        database.execute(
            "UPDATE verdicts SET verdict = 'UNKNOWN', kind = NULL, low = 0, high = NULL, strategy = NULL,"
            " source = NULL WHERE number = ?",
            (number,),
        )
        database.execute("DELETE FROM faults WHERE run = ?", (number,))
        seal_from_scratch(database)
    with open_campaign(tmp_path / "two") as again:
        assert [own.verdict for own in again.records] == ["BUG", "UNKNOWN"]
        assert [fault.state for fault in again.records[0].faults or ()] == [(4,)]
        for full in (False, True):
            report = again.replay(full=full).report
            assert not list(report.problems)
