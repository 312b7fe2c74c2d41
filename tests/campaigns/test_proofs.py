"""Bugs that dominance proves get a plan that proves them, too, where a small search finds one."""

from __future__ import annotations

import pytest

from misstep.campaigns.records import Record
from misstep.campaigns.rows import VerdictRow
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.view import rank
from misstep.tasks.task import Task
from support.tasks import generated_task, small_task


def plan_proves(record: Record) -> bool:
    """Whether the plan of a record is better than the policy's run."""
    if record.witness.cost is None or record.run.cost is None:
        return False
    return record.run.outcome != "goal" or record.witness.cost < record.run.cost


@pytest.fixture(scope="module")
def visitall() -> Task:
    return generated_task("visitall", width=3, height=2)


def test_the_policys_own_run_is_no_better_plan(visitall: Task) -> None:
    found = run_campaign(visitall, "noisy:0.3:5+heuristic:ff", pool=20, oracle="bmo(0)")
    costly = [bug for bug in found.bugs if bug.kind == "costly"]
    assert costly
    assert all(plan_proves(bug) for bug in costly)
    assert found.replay().ok


@pytest.mark.parametrize("isolate", [False, True])
def test_isolated_bugs_have_plans_too(isolate: bool) -> None:
    found = run_campaign(
        small_task("gripper-4"), "noisy:0.4:1+heuristic:ff", pool=25, oracle="smo", isolate=isolate
    )
    fails = [bug for bug in found.bugs if bug.kind == "fails"]
    assert fails
    assert all(plan_proves(bug) for bug in fails)
    assert found.replay().ok


def test_of_two_infinite_gaps_the_lower_bound_on_plans_counts() -> None:
    """Where the policy fails, all gaps are infinite; the cheaper plan is still the better verdict."""
    dear = VerdictRow(0, "first", 0, "BUG", "fails", None, None, 3, 23, plan=(0,))
    cheap = dear._replace(oracle="second", upper=17)
    assert rank(cheap) > rank(dear)
