"""Explanations of bugs, against the truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from misstep.campaigns.blame import blame, explain_bug, find_bug
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.policy import policy_of
from misstep.campaigns.replay import replay, rerun
from misstep.campaigns.store import CampaignStore, create_store, open_store
from misstep.errors import UsageError
from misstep.faults.distances import BoundedDistances, Distances, ExactDistances, distances
from misstep.faults.explain import explain, follow
from misstep.fuzzing.settings import preset
from misstep.planning import plan
from misstep.tasks.task import State
from support.tasks import random_costs, small_task
from support.worlds import World, world

POLICIES = ["noisy:0.3:5+optimal", "noisy:0.1:2+heuristic:ff", "random:3", "first"]


def both(here: World) -> list[Distances]:
    return [ExactDistances(here.task, here.space), BoundedDistances(here.task, 300)]


@pytest.mark.parametrize("costs", [(), (0, 1, 5)])
@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3", "transport-2", "conditional"])
def test_missteps_lose_what_is_said(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    explained = 0
    for spec in POLICIES:
        runner = here.runner(spec)
        for known in both(here):
            for state in here.states(12):
                best = here.h_star(state)
                run = runner.trace(state)
                if math.isinf(best) or (run.outcome == "goal" and run.cost == best):
                    continue
                names = plan(here.task, "astar-max", start=state).operators
                better = follow(here.task, state, names, "goal", int(best)).operators
                explanation = explain(run, better, known, runner, max_expansions=300)
                explained += 1
                json.dumps(explanation.as_dict())
                for misstep in explanation.missteps:
                    regret = misstep.regret
                    after = (
                        here.h_star(run.states[regret.step + 1])
                        if regret.operator is not None
                        else 0
                    )
                    cost = math.inf if regret.operator is None else here.task.cost(regret.operator)
                    lost = cost + after - here.h_star(regret.state)
                    assert regret.low <= lost <= regret.high
                    assert lost > 0 or regret.idle
                    if known.exact:
                        assert regret.exact
                        assert misstep.better is not None
                        there = here.task.apply(regret.state, misstep.better)
                        step = here.task.cost(misstep.better)
                        assert step + here.h_star(there) == here.h_star(regret.state)
                if known.exact:  # somebody is to blame for every bug
                    assert explanation.missteps
                repair = explanation.to_the_best
                assert repair is not None
                if repair.status in ("minimal", "found"):
                    assert repair.deviations
                    assert repair.cost == best
    assert explained > 10


def test_small_tasks_are_exact() -> None:
    task = small_task("gripper-4")
    assert distances(task).exact
    assert not distances(task, max_states=10).exact
    assert not distances(task, max_states=0).exact


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    task = random_costs(small_task("transport-2"), seed=6, choices=(1, 3))
    settings = CampaignSettings(
        "noisy:0.05:1+optimal",
        "lmcut, elimination, aras/ehc, astar",
        fuzzing=preset("p24", bias="none", max_states=25, patience=500),
    )
    with create_store(tmp_path / "c", settings.as_dict()) as store:
        Campaign(store, settings).run([task])
    return tmp_path / "c"


def bugs_of(store: CampaignStore) -> list[int]:
    return [tested.index for tested in store.tested() if tested.is_bug]


def test_bugs_of_a_campaign(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store:
        (name,) = store.task_names()
        task = store.task(name)
        known = distances(task)
        bugs = bugs_of(store)
        assert bugs
        runner, problem = policy_of(store, task)
        assert problem is None
        for index in bugs:
            bug = find_bug(store, str(index))
            assert find_bug(store, f"{name}:{index}") == bug
            explanation = explain_bug(store, bug, known, runner)
            assert explanation.missteps
            assert explanation.run.states[0] == State(list(bug.state))
        blamed = blame(store, distances)
        assert {index for decision in blamed for index in decision.bugs} == set(bugs)
        assert len({(d.state, d.decision) for d in blamed}) == len(blamed)
        assert [len(d.bugs) for d in blamed] == sorted((len(d.bugs) for d in blamed), reverse=True)
        with_bounds = blame(store, lambda task: distances(task, max_states=0))
        exact = {(d.state, d.decision) for d in blamed}
        assert {(d.state, d.decision) for d in with_bounds} <= exact


def test_no_such_bug(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store:
        bugs = bugs_of(store)
        sound = next(t.index for t in store.tested() if not t.is_bug)
        for name, text in [
            ("x", "no bug 'x'"),
            ("nowhere:1", "no bug 'nowhere:1'"),
            (str(sound), "is no bug"),
            ("999", "was not tested"),
        ]:
            with pytest.raises(UsageError, match=text):
                find_bug(store, name)
    assert bugs


def test_running_the_policy_again(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store:
        results = list(rerun(store))
        assert len(results) == len(list(store.tested()))
        assert {reason for _, _, reason in results} == {None}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE verdicts SET gap_high = gap_high + 1 WHERE verdict = 'BUG'",
        "UPDATE verdicts SET kind = 'unclassified' WHERE verdict = 'BUG'",
        "UPDATE verdicts SET verdict = 'OPTIMAL', kind = NULL WHERE verdict = 'BUG'",
        "UPDATE runs SET steps = steps + 1",
        "UPDATE runs SET cost = cost + 100",
    ],
)
def test_sums_that_were_tampered_with(campaign: Path, change: str) -> None:
    with open_store(campaign, readonly=True) as store:
        assert {reason for *_, reason in replay(store)} == {None}
    with open_store(campaign) as store:
        store.execute(change)
    with open_store(campaign, readonly=True) as store:
        assert any(reason for *_, reason in replay(store))


def test_a_run_that_was_tampered_with(campaign: Path) -> None:
    with open_store(campaign) as store, store.unit():
        store._db.execute("UPDATE runs SET outcome = 'stuck' WHERE idx = 0")
        store._db.execute("UPDATE runs SET operators = '[\"no-op\"]' WHERE idx = 1")
    with open_store(campaign, readonly=True) as store:
        wrong = {index: reason for _, index, reason in rerun(store) if reason is not None}
    assert set(wrong) == {0, 1}
    assert "not stuck" in wrong[0]
    assert "not (no-op)" in wrong[1]
