"""The decisions to blame agree with the truth, and bugs of a campaign are explained."""

from __future__ import annotations

import json
import math

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_test
from misstep.errors import UsageError
from misstep.faults.blame import find_faults
from misstep.faults.distances import BoundedDistances, Distances, ExactDistances, distances
from misstep.faults.repair import smallest_repair
from misstep.tasks.census import SmallTask
from misstep.tasks.task import State
from support.tasks import random_costs, small_task
from support.worlds import World, world

POLICIES = ["noisy:0.3:5+optimal", "noisy:0.1:2+heuristic:ff", "random:3", "first"]


def both(here: World) -> list[Distances]:
    return [ExactDistances(SmallTask(here.task, here.space)), BoundedDistances(here.task, 300)]


def after(here: World, state: State, operator: int | None) -> float:
    """The cost of an operator and of the cheapest plan after it."""
    if operator is None:
        return math.inf
    return here.task.cost(operator) + here.h_star(here.task.apply(state, operator))


@pytest.mark.parametrize("costs", [(), (0, 1, 5)])
@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3", "transport-2", "conditional"])
def test_faults_lose_what_is_said(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    blamed = 0
    for spec in POLICIES:
        runner = here.runner(spec)
        for known in both(here):
            for state in here.states(12):
                best = here.h_star(state)
                run = runner.trace(state)
                if math.isinf(best) or (run.outcome == "goal" and run.cost == best):
                    continue
                plan = here.runner("optimal").trace(state).operators
                faults = list(find_faults(run, plan, known))
                assert [fault.step for fault in faults] == sorted({fault.step for fault in faults})
                blamed += 1
                for fault in faults:
                    there = State(list(fault.state))
                    assert there == run.states[fault.step]
                    low, high = (math.inf if b is None else b for b in (fault.low, fault.high))
                    lost = after(here, there, fault.decision) - here.h_star(there)
                    assert low <= lost <= high
                    assert lost > 0 or (fault.recurring and run.outcome == "loop")
                    if lost > 0 and fault.better is not None:
                        assert after(here, there, fault.better) < after(here, there, fault.decision)
                    if known.exact:
                        assert low == high
                        assert fault.better is not None
                        assert after(here, there, fault.better) == here.h_star(there)
                if known.exact:  # somebody is to blame for every bug
                    assert faults
                repair = smallest_repair(
                    runner,
                    state,
                    cost_bound=int(best),
                    lower_bound=known.lower,
                    max_expansions=300,
                )
                if repair.status in ("minimal", "found"):
                    assert repair.deviations
                    assert repair.cost == best
    assert blamed > 10


def test_better_only_where_a_plan_says_so() -> None:
    """A derivation may prove a bound without a plan; then there is no operator to recommend."""
    here = world("gripper-4", ())
    known = BoundedDistances(here.task, 0)
    plan = here.runner("optimal").trace(here.task.initial_state).operators
    known.add_path(here.task.initial_state, plan)
    cost = len(plan)
    assert known.best_operator(here.task.initial_state) == plan[0]
    assert known.best_operator(here.task.initial_state, cost + 1) == plan[0]
    assert known.best_operator(here.task.initial_state, cost) is None
    exact = ExactDistances(SmallTask(here.task, here.space))
    assert exact.best_operator(here.task.initial_state, cost + 1) is not None
    assert exact.best_operator(here.task.initial_state, cost) is None


def test_small_tasks_are_exact() -> None:
    task = small_task("gripper-4")
    assert distances(task).exact
    assert not distances(task, max_states=10).exact
    assert not distances(task, max_states=0).exact


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    task = random_costs(small_task("transport-2"), seed=6, choices=(1, 3))
    return run_test(
        task,
        "noisy:0.05:1+optimal",
        oracle="lmcut, elimination, aras/ehc, astar",
        preset="p24",
        fuzz="none",
        pool=25,
        patience=500,
    )


def test_bugs_of_a_campaign_are_explained(campaign: Campaign) -> None:
    assert campaign.bugs
    for bug in campaign.bugs:
        assert campaign.record(bug.id) == campaign.record(bug.number) == bug
        explanation = campaign.explain(bug, deeper=True)
        assert explanation.problem is None
        assert explanation.exact
        assert explanation.faults == campaign.explain(bug).faults  # the task is small
        assert explanation.to_the_best is not None
        json.dumps(explanation.as_dict())
    blamed = campaign.faults
    assert {bug for decision in blamed for bug in decision.bugs} == {b.id for b in campaign.bugs}
    assert len({(d.state, d.decision) for d in blamed}) == len(blamed)
    assert [len(d.bugs) for d in blamed] == sorted((len(d.bugs) for d in blamed), reverse=True)


def test_bounds_blame_no_other_decisions(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = {(d.state, d.decision) for d in campaign.faults}
    monkeypatch.setattr("misstep.campaigns.planning.work.exact_distances", lambda _: None)
    again = run_test(campaign.tasks, "noisy:0.05:1+optimal", config=campaign.settings.as_dict())
    found = {(d.state, d.decision) for d in again.faults}
    assert found
    assert found <= exact


def test_a_bug_that_does_not_exist_is_refused(campaign: Campaign) -> None:
    sound = next(record for record in campaign.records if not record.is_bug)
    for handle in ("x", "nowhere:1", "999"):
        with pytest.raises(UsageError, match=f"no record '{handle}'"):
            campaign.explain(handle)
    with pytest.raises(UsageError, match="is not a bug"):
        campaign.explain(sound)


def test_a_replay_may_run_the_policy_again(campaign: Campaign) -> None:
    again = campaign.replay(rerun=True)
    assert again.ok
    assert again.rerun == len(campaign.records)
    other = campaign.replay("first")
    assert other.changed
    assert not other.ok
