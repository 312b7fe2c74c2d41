"""What an explanation says is no more than what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.explain import BlamedDecision
from misstep.faults.repair import Repair
from support.campaigns import small_model
from support.small import task_of


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return misstep.test(task_of("gripper", balls=2), "first", pool=5)


def test_no_time_is_not_a_proof_that_nothing_helps(campaign: Campaign) -> None:
    told = campaign.explain(campaign.bugs[0])
    text = str(replace(told, problem="the time limit was reached"))
    assert "There is no repair" not in text
    assert "No repair is known: the time limit was reached" in text


@pytest.mark.parametrize(
    ("status", "begins"),
    [
        ("minimal", "Smallest repair to reach the goal: 0 decisions; then"),
        ("found", "A repair to reach the goal: 0 decisions, and at least 3 must change; then"),
    ],
)
def test_a_repair_is_called_smallest_only_if_that_is_proven(
    status: str, begins: str, campaign: Campaign
) -> None:
    repair = Repair(status, (), 5, (), 3, 10)
    told = replace(campaign.explain(campaign.bugs[0]), to_the_goal=repair)
    assert begins in str(told)


def test_a_decision_that_loses_steps_does_not_lose_0() -> None:
    blamed = BlamedDecision("p", (0,), ("a",), None, None, (0, 0), None, ("p:0",))
    assert "loses steps but no cost" in str(blamed)


def test_a_later_state_that_was_left_open_may_be_safe() -> None:
    campaign = misstep.test(small_model("one-way-line"), "first", runs=60)
    bug = next(bug for bug in campaign.bugs if len(bug.run.operators) > 1)
    told = campaign.explain(bug)
    last = told.last_safe_step
    assert last is not None
    assert f"The last safe state of the run is at step {last}." in str(told)
    states = len(bug.run.states or ())
    for open_ in ("UNKNOWN", "FLAKY", None):
        verdicts = ("BUG", *[open_] * (states - 2), "UNSAFE")
        text = str(replace(told, verdicts=verdicts))
        assert "The last state known to be safe is at step 0." in text
