"""Claims of a record beside its verdict: shares of the gap, what a policy permits, and the walk to the state."""

from __future__ import annotations

import sqlite3

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.campaign import check_database
from misstep.checking.report import CampaignReport
from support.permitted import SetPolicy, everything
from support.tasks import SMALL, generated_task, random_costs, small_task


def changed(campaign: Campaign, *statements: str) -> sqlite3.Connection:
    """A copy without its digest."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign._content.store.connection.backup(copy)
    for statement in ("DELETE FROM meta WHERE key = 'seal'", *statements):
        copy.execute(statement)
    return copy


def said(report: CampaignReport) -> str:
    return "; ".join(str(problem) for _, problem in report.problems)


def test_shares_in_a_loop_that_costs_nothing_are_computed_again() -> None:
    """There the steps count that a decision loses, and these take the cheapest plans."""
    task = random_costs(small_task(next(iter(SMALL))), seed=3, choices=(0,))
    with run_campaign(task, "noisy:0.4:1+heuristic:ff", pool=12) as campaign:
        assert campaign.replay(full=True).ok
        forged = changed(campaign, "UPDATE faults SET share = 1 - share WHERE share NOT NULL")
    plain = check_database(forged)
    assert plain.valid
    assert plain.not_checked["losses"] > 0
    assert "the losses say otherwise" in said(check_database(forged, full=True))


def test_what_a_run_shows_of_all_permitted_runs() -> None:
    task = generated_task("gripper", balls=2)
    with run_campaign(task, SetPolicy(task, everything), pool=5) as campaign:
        honest = check_database(changed(campaign))
        assert honest.valid
        assert honest.not_checked["permitted graphs"] > 0  # no verdict rests on them
        forged = changed(campaign, "UPDATE runs SET permitted = json_set(permitted, '$.most', 9)")
    assert "all permitted runs are said to reach the goal" in said(check_database(forged))


def test_walks_that_start_elsewhere_are_not_checked() -> None:
    """A walk is shown from the initial state on, through all states where other walks start."""
    task = generated_task("gripper", balls=3)
    with run_campaign(task, "heuristic:ff", pool=20) as campaign:
        brought = changed(campaign)
    number, resting = brought.execute(
        "SELECT reference, count(*) FROM states WHERE reference > 0 GROUP BY 1 ORDER BY 2 DESC"
    ).fetchone()
    brought.execute("UPDATE states SET reference = NULL, walk = '[]' WHERE number = ?", (number,))
    report = check_database(brought)
    assert report.valid, said(report)
    assert report.not_checked["walks"] >= 1 + resting > 1
