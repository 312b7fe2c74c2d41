"""Risks in campaigns on models, of a policy that does otherwise when its risk is computed than in its runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.models.risk import weigh_risks
from misstep.campaigns.risks import read_decisions
from misstep.campaigns.rows import ContradictionRow
from misstep.campaigns.testing import test as run_campaign
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable

WALK = jani.model(
    [variable("x", bounded(0, 5), 0)],
    [
        edge(
            "a",
            op("<", "x", 5),
            destination({"x": op("+", "x", 1)}, 0.5),
            destination({"x": 0}, 0.5),
        ),
        edge("b", True, destination({"x": 0})),
    ],
    prop=pa(op("=", "x", 5)),
)


class Wavering:
    """Takes `a`; where it wavers, `b`."""

    deterministic = True
    wavers: frozenset[int] = frozenset()

    def __call__(self, state: Any) -> str:
        return "b" if state["x"] in self.wavers else "a"


@pytest.mark.parametrize("place", [3, None])
def test_a_policy_that_does_otherwise_than_in_its_runs(
    place: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said of its risk, and the records hold; the least risk does not depend on it."""
    policy = Wavering()

    def weighed(*given: Any) -> Any:
        policy.wavers = frozenset(() if place is None else [place])
        try:
            return weigh_risks(*given)
        finally:
            policy.wavers = frozenset()

    monkeypatch.setattr("misstep.campaigns.models.work.weigh_risks", weighed)
    task = jani.task(WALK)
    with run_campaign(task, policy, out=tmp_path / "found", runs=20, risk=True) as campaign:
        risks = [record.run.risk for record in campaign.records]
        assert risks
        assert all(record.run.least_risk == (0, 0) for record in campaign.records)
        said = any("answers differently than before" in own for own in campaign.summary.remarks)
        assert campaign.replay().report.problems == []
    assert all((own == (0, 1)) == (place is not None) for own in risks)
    assert said == (place is not None)


class Alternating(Wavering):
    """Takes `a` and `b` in turn in one state."""

    asked = 0

    def __call__(self, state: Any) -> str:
        Alternating.asked += state["x"] == 3
        return "b" if state["x"] == 3 and Alternating.asked % 2 == 0 else "a"


@pytest.mark.parametrize("most", [0, 100])
def test_a_policy_that_contradicts_itself(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its risk was computed from one of its answers: it was 0 beside a run into an unsafe state."""
    monkeypatch.setattr("misstep.campaigns.models.risk.LARGEST_CHAIN", most)
    monkeypatch.setattr(Alternating, "asked", 0)
    with run_campaign(
        jani.task(WALK), Alternating(), out=tmp_path / "found", runs=40, risk=True
    ) as campaign:
        assert campaign.summary.contradictions
        assert {record.run.risk for record in campaign.records} == {(0, 1)}
        assert any("nothing is said of its own risk" in own for own in campaign.summary.remarks)
        assert campaign.replay().report.problems == []


def test_a_policy_that_declares_that_it_is_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not asked again, so its answers may agree by chance."""
    monkeypatch.setattr(Wavering, "deterministic", False)
    with run_campaign(jani.task(WALK), Wavering(), runs=40, risk=True) as campaign:
        assert {record.verdict for record in campaign.records} == {"FLAKY"}
        assert {record.run.risk for record in campaign.records} == {(0, 1)}


def contradicted(campaign: Campaign, x: int) -> None:
    """What a unit stores that finds another answer, before the work ends."""
    with campaign._writing() as content, content.store.unit():
        content.store.set_meta("finished", "0")
        content.store.set_meta("asks", "1")
        findings = content.findings(content.task_names()[0])
        findings.add_contradictions([ContradictionRow((x,), 0, 1, 2)])


@pytest.mark.parametrize("most", [0, 100])
def test_nothing_rests_on_a_decision_that_was_contradicted_since(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither verdicts nor risks are shown until the work goes on, and the folder is no forgery."""
    monkeypatch.setattr("misstep.campaigns.models.risk.LARGEST_CHAIN", most)
    with run_campaign(
        jani.task(WALK), Wavering(), out=tmp_path / "found", runs=20, risk=True
    ) as campaign:
        assert all(record.run.risk != (0, 1) for record in campaign.records)
        contradicted(campaign, 3)
        assert {record.verdict for record in campaign.records} == {"UNKNOWN"}
        assert {record.run.risk for record in campaign.records} == {None}
        assert campaign.replay().report.problems == []
        campaign.resume()
        assert {record.verdict for record in campaign.records} == {"FLAKY"}
        assert {record.run.risk for record in campaign.records} == {(0, 1)}
        assert campaign.replay().report.problems == []


def test_a_risk_that_does_not_rest_on_a_contradiction_stays(tmp_path: Path) -> None:
    with run_campaign(
        jani.task(WALK), Wavering(), out=tmp_path / "found", runs=20, risk=True
    ) as campaign:
        before = [record.run.risk for record in campaign.records]
        contradicted(campaign, 5)  # where runs end
        assert [record.run.risk for record in campaign.records] == before


BRANCHES = jani.model(
    [variable("x", bounded(0, 20), 0)],
    [
        edge("a", op("=", "x", 0), *(destination({"x": x}, 0.1) for x in range(10, 20))),
        edge("a", op("≥", "x", 10), destination({"x": 5}, 0.5), destination({"x": 6}, 0.5)),
        edge("b", op("≥", "x", 10), destination({"x": 4})),
        edge("a", op("=", "x", 6), destination({"x": 5}, 0.5), destination({"x": 4}, 0.5)),
        edge("b", op("=", "x", 6), destination({"x": 4})),
    ],
    prop=pa(op("=", "x", 5)),
)


class Moody:
    """Another session may decide otherwise in one state."""

    def __call__(self, state: Any) -> str:
        return os.environ["MOOD"] if state["x"] == 6 else "a"


def test_risks_of_two_sessions_rest_on_the_same_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run shows the state where the policy has changed its mind, but risks rest on it."""
    monkeypatch.setenv("MOOD", "a")
    with run_campaign(
        jani.task(BRANCHES), Moody(), out=tmp_path / "c", runs=3, fuzz="uniform-1", risk=True
    ) as campaign:
        assert all(record.run.risk != (0, 1) for record in campaign.records)
        monkeypatch.setenv("MOOD", "b")
        campaign.resume(runs=20)
        assert {record.run.risk for record in campaign.records} == {(0, 1)}
        assert {record.run.least_risk for record in campaign.records} == {(0, 0)}
        assert {record.verdict for record in campaign.records} == {"BUG"}
        assert campaign.replay().report.problems == []


def test_decisions_are_kept_of_all_risks_or_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a contradiction among those that are not kept would leave the risks as they are."""
    monkeypatch.setenv("MOOD", "a")
    with run_campaign(
        jani.task(BRANCHES), Moody(), out=tmp_path / "c", runs=3, fuzz="uniform-1", risk=True
    ) as campaign:
        findings = campaign._content.findings(campaign._content.task_names()[0])
        assert read_decisions(findings)
        for most, runs in ((0, 10), (20_000, 20)):
            monkeypatch.setattr("misstep.campaigns.models.risk.LARGEST_CHAIN", most)
            states = len(campaign.records)
            campaign.resume(runs=runs)
            assert len(campaign.records) > states
            assert all(record.run.risk != (0, 1) for record in campaign.records)
            assert read_decisions(campaign._content.findings(findings.name)) == []
            assert campaign.replay().report.problems == []


def test_a_run_is_contradicted_where_its_risk_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdicts on it are weighed again, like the risks."""
    policy = Wavering()

    def weighed(*given: Any) -> Any:
        policy.wavers = frozenset([3])
        try:
            return weigh_risks(*given)
        finally:
            policy.wavers = frozenset()

    monkeypatch.setattr("misstep.campaigns.models.work.weigh_risks", weighed)
    with run_campaign(jani.task(WALK), policy, out=tmp_path / "c", runs=20, risk=True) as campaign:
        assert campaign.summary.contradictions == 1
        verdicts = {record.state[0]: record.verdict for record in campaign.records}
        assert {verdicts[x] for x in range(4)} == {"FLAKY"}
        assert {record.run.risk for record in campaign.records} == {(0, 1)}
        assert campaign.replay().report.problems == []
