"""Campaigns that grow, are judged by further oracles, and lend their pools, keep what they have found."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.create import read_config
from misstep.campaigns.planning.payloads import PoolPayload
from misstep.campaigns.planning.pooling import fresh_states, going_on
from misstep.campaigns.states import state_of
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.view import rank
from misstep.campaigns.workers import can_start
from misstep.errors import MisstepError, UsageError
from misstep.policies.function import StateView
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from support.campaigns import BATCHES, NOISY, ORACLE, SHARING, small_model, told
from support.permitted import random_task
from support.tasks import random_costs, small_task

COMPARING = "bmo(10), bmo(20)+aras/ehc"


def essence(campaign: Campaign) -> list[tuple[Any, ...]]:
    """What a campaign that grew shares with one that was made at once."""
    return [
        (r.id, r.state, r.found, r.run, r.verdict, r.kind, r.gap, r.radius)
        for r in campaign.records
    ]


@pytest.mark.parametrize(
    ("name", "oracle", "policy"),
    [
        ("blocksworld-4", "bmo(10)+aras/ehc", "noisy:0.2:3+optimal"),
        ("ferry-3", COMPARING, NOISY),
        ("ferry-3", COMPARING, "noisy:0.2:3+optimal"),
        ("gripper-4", ORACLE, NOISY),
        ("spanner-3", "lookahead(1)", "noisy:0.2:3+optimal"),
        ("transport-2", "bmo(5)", NOISY),
    ],
)
def test_a_pool_enlarged_later_equals_a_pool_that_was_larger_from_the_start(
    name: str, oracle: str, policy: str
) -> None:
    """Twenty is no multiple of the six states of a round: the last round is judged again."""
    task = random_costs(small_task(name), seed=6, choices=(0, 1, 3))
    how: dict[str, Any] = {"oracle": oracle, "config": SHARING, "patience": 500}
    at_once = run_campaign(task, policy, pool=40, **how)
    grown = run_campaign(task, policy, pool=20, **how)
    assert len(grown) == 20 < len(at_once)
    grown.resume(pool=40)
    assert essence(grown) == essence(at_once)
    assert grown.settings == at_once.settings
    blamed = [[r.faults is None for r in campaign.records] for campaign in (grown, at_once)]
    assert blamed[0] == blamed[1]
    assert grown.replay(rerun=True).ok


def test_growing_step_by_step_in_a_folder(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    how: dict[str, Any] = {"oracle": COMPARING, "config": SHARING}
    at_once = run_campaign(task, NOISY, pool=31, **how)
    with run_campaign(task, NOISY, pool=5, out=tmp_path / "c", **how) as grown:
        for size in (6, 12, 13, 31):
            grown.resume(pool=size)
            assert len(grown) == size
            stored = grown.settings.of_planning.fuzzing.max_states
            assert f"max_states = {stored}\n" in (read_config(tmp_path / "c") or "")
        assert essence(grown) == essence(at_once)
    with open_campaign(tmp_path / "c") as again:
        assert essence(again) == essence(at_once)
        assert again.summary.finished
    # The same by the words of the command: the settings of the folder, but for the size.
    with run_campaign(task, NOISY, pool=35, out=tmp_path / "c", resume=True, **how) as again:
        assert len(again) == 35


@pytest.mark.parametrize("name", ["one-way-line", "two-way-line", "beluga"])
def test_runs_added_later_are_those_of_a_larger_campaign(name: str) -> None:
    task = small_model(name)
    for policy in ("first", "random:3"):
        at_once = run_campaign(task, policy, runs=200, config={"model": {"batch": 30}})
        grown = run_campaign(task, policy, runs=100, config={"model": {"batch": 30}})
        grown.resume(runs=200)
        assert told(grown) == told(at_once)
        assert grown.summary.outcomes == at_once.summary.outcomes
        assert grown.replay(rerun=True).ok


def test_a_campaign_only_grows(tmp_path: Path) -> None:
    task, model = small_task("gripper-4"), small_model("two-way-line")
    tested = run_campaign(task, "first", pool=6, oracle="undo")
    fuzzed = run_campaign(model, "first", runs=10)
    for campaign, options, says in (
        (tested, {"pool": 5}, "pool is 5; expected 6 or more"),
        (tested, {"runs": 5}, "runs is an option of models"),
        (fuzzed, {"runs": 5}, "runs is 5; expected 10 or more"),
        (fuzzed, {"pool": 5}, "pool is an option of planning tasks"),
    ):
        before = told(campaign)
        with pytest.raises(UsageError, match=says):
            campaign.resume(**options)  # type: ignore[arg-type]
        assert told(campaign) == before
    with run_campaign(task, "first", pool=6, oracle="undo", out=tmp_path / "c") as campaign:
        pass
    with pytest.raises(UsageError, match="not the campaign in the folder: its seed is 0, not 1"):
        run_campaign(task, "first", pool=6, oracle="undo", seed=1, out=tmp_path / "c", resume=True)
    with pytest.raises(UsageError, match="only grows"):
        run_campaign(task, "first", pool=5, oracle="undo", out=tmp_path / "c", resume=True)


def test_a_campaign_does_not_grow_for_tasks_that_it_refuses(tmp_path: Path) -> None:
    """The settings and the faults stay: a campaign never becomes smaller again."""
    task, folder = small_task("gripper-4"), tmp_path / "c"
    call = partial(run_campaign, policy="first", seed=1, out=folder)
    with call(task, pool=6) as campaign:
        before = told(campaign)
    config = read_config(folder)
    same_name = load_task(generate("gripper", balls=3))
    same_name.name = task.name
    other_name = load_task(generate("gripper", balls=4))
    other_name.name = "other"
    for refused, says in ((same_name, "not the one"), (other_name, "other tasks")):
        with pytest.raises(MisstepError, match=says):
            call(refused, pool=9, resume=True)
        assert read_config(folder) == config
        with open_campaign(folder) as campaign:
            assert told(campaign) == before


# -- further oracles ------------------------------------------------------------------------------


class Counting:
    """Takes the first operator, and counts how often it is asked about each state."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[int, ...]] = Counter()

    def act(self, state: StateView) -> str | None:
        self.asked[state.values] += 1
        return state.operators[0] if state.operators else None


def test_a_second_oracle_adds_its_verdicts() -> None:
    task, policy = small_task("blocksworld-4"), Counting()
    found = run_campaign(task, policy, pool=20, oracle="gbfs(3)", config=SHARING)
    again = found.summary.asked_again  # in a fork, or here where a fork could hang
    assert sum(policy.asked.values()) - len(policy.asked) <= 10 * again
    policy.asked.clear()
    first = told(found)
    assert "UNKNOWN" in {row["verdict"] for row in first}
    found.judge("exact")
    second = told(found)
    if can_start(policy):  # else it is asked again here
        assert policy.asked == Counter()  # all runs were stored
    for before, now, record in zip(first, second, found.records, strict=True):
        assert [own["oracle"] for own in now["verdicts"]] == ["gbfs(3)", "exact"]
        assert now["verdicts"][0] == before["verdicts"][0]
        assert (now["state"], now["found"], now["run"]) == (
            before["state"],
            before["found"],
            before["run"],
        )
        assert now["verdict"] != "UNKNOWN"
        exact = now["verdicts"][1]
        assert (now["verdict"], now["gap"]) == (exact["verdict"], exact["gap"])
        assert now["oracle"] == "exact" or before["verdict"] != "UNKNOWN"
        assert (record.faults is not None) == record.is_bug
    assert found.summary.oracles == ["gbfs(3)", "exact"]
    assert found.replay(rerun=True).ok
    # It does not matter that another oracle was there before.
    alone = told(run_campaign(task, "first", pool=20, oracle="exact", config=SHARING))
    for row, own in zip(second, alone, strict=True):
        assert row["verdicts"][1] == own["verdicts"][0]


def test_the_record_is_the_best_of_all_verdicts() -> None:
    task = random_costs(small_task("gripper-4"), seed=6, choices=(0, 1, 3))
    found = run_campaign(task, NOISY, pool=25, oracle="lookahead(1)", config=SHARING)
    for oracle in ("gbfs(20)", "undo | aras/ehc", COMPARING):
        found.judge(oracle)
    rows = found._content.findings(task.name).verdicts()
    taken: Counter[str] = Counter()
    for record in found.records:
        own = [row for row in rows if row.number == record.number]
        best = max(own, key=rank)
        assert (record.oracle, record.verdict) == (best.oracle, best.verdict)
        assert record.gap == (best.low, best.high)
        taken[record.oracle] += 1
        decided = {row.verdict for row in own} - {"UNKNOWN"}
        assert len(decided) <= 1  # proofs do not contradict each other
    assert len(taken) > 1
    assert found.replay(rerun=True).ok


def test_a_second_oracle_of_a_model(tmp_path: Path) -> None:
    task = small_model("two-way-line")
    with run_campaign(task, "first", runs=60, config=BATCHES, out=tmp_path / "c") as found:
        first = told(found)
        found.judge("tarjan", jobs=2)
        second = told(found)
        for before, now in zip(first, second, strict=True):
            assert now["verdicts"][0] == before["verdicts"][0]
            assert [own["oracle"] for own in now["verdicts"]] == ["localfix", "tarjan"]
            assert now["verdicts"][1]["verdict"] == now["verdict"] == before["verdict"]
            assert now["faults"] == before["faults"]
        assert found.replay(rerun=True).ok
        found.resume(runs=90)  # both judge what is new
        assert all(len(record.verdicts) == 2 for record in found.records)


def test_wrong_oracles_are_refused() -> None:
    with run_campaign(small_task("gripper-4"), "first", pool=3, oracle="undo") as found:
        for wrong in ("", "nonsense", None, 5, "localfix"):
            with pytest.raises(MisstepError):
                found.judge(wrong)  # type: ignore[arg-type]
        assert len(found.summary.oracles) == 1


# -- lent pools -----------------------------------------------------------------------------------


def test_a_pool_can_be_lent_to_another_campaign(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    lender = run_campaign(task, NOISY, pool=15, oracle="undo", seed=4, out=tmp_path / "lender")
    for source in (lender, tmp_path / "lender", str(tmp_path / "lender")):
        with run_campaign(None, "first", pool_from=source, oracle=ORACLE, config=SHARING) as own:
            assert [(r.state, r.found) for r in own.records] == [
                (r.state, r.found) for r in lender.records
            ]
            assert own.policy is not None
            assert own.policy.spec == "first"
            assert own.replay(rerun=True).ok
    first = run_campaign(task, "first", pool=15, seed=4, oracle=ORACLE, config=SHARING)
    lent = run_campaign(task, "first", pool_from=first, oracle=ORACLE, config=SHARING)
    assert told(lent) == told(first)


def test_pools_that_cannot_be_lent_are_refused(tmp_path: Path) -> None:
    lender = run_campaign(small_task("blocksworld-4"), "first", pool=3, oracle="undo")
    other = load_task(generate("gripper", balls=2))
    with pytest.raises(UsageError, match="has not tested on gripper"):
        run_campaign(other, "first", pool_from=lender, out=tmp_path / "c")
    same_name = small_task("gripper-4")
    assert same_name.name == small_task("blocksworld-4").name
    with pytest.raises(UsageError, match="expected a campaign on the same task"):
        run_campaign(same_name, "first", pool_from=lender, out=tmp_path / "c")
    model = small_model("two-way-line")
    fuzzed = run_campaign(model, "first", runs=10)
    for tasks in (model, None):
        with pytest.raises(UsageError, match="models have no pool to take over"):
            run_campaign(tasks, "random:3", pool_from=fuzzed, out=tmp_path / "c")
    assert not (tmp_path / "c").exists()  # what is refused leaves nothing behind


# -- isolated states ------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["undo | lookahead(1)", COMPARING, "elimination, aras/ehc"])
def test_isolated_states_do_not_depend_on_each_other(oracle: str) -> None:
    task = random_costs(small_task("gripper-4"), seed=6, choices=(0, 1, 3))
    how: dict[str, Any] = {"oracle": oracle, "isolate": True}

    def verdicts(pool: int, **settings: Any) -> list[tuple[Any, ...]]:
        found = run_campaign(task, NOISY, pool=pool, **how, **settings)
        assert found.replay(rerun=True).ok
        return [
            (r.state, r.verdict, r.kind, r.gap, r.bounds, r.effort, r.witness, r.source)
            for r in found.records
        ]

    expected = verdicts(18)
    assert verdicts(7) == expected[:7]
    assert verdicts(18, config=SHARING) == expected
    assert verdicts(18, config={"planning": {"chunk": 1, "round": 1}}) == expected
    shared = run_campaign(task, NOISY, pool=18, oracle=oracle)
    assert sum(r.is_bug for r in shared.records) >= sum(v[1] == "BUG" for v in expected)


def test_a_lent_pool_does_not_grow() -> None:
    """Its states were found with another policy, so this campaign cannot continue the search for states."""
    task = small_task("gripper-4")
    lender = run_campaign(task, "heuristic:ff", pool=12, seed=1)
    borrower = run_campaign(task, "noisy:0.4:3+heuristic:ff", pool_from=lender, pool=12, seed=2)
    before = told(borrower)
    with pytest.raises(UsageError, match=r"was taken.*--pool-from"):
        borrower.resume(pool=30)
    assert told(borrower) == before


def test_a_pool_goes_on_from_its_own_states_if_the_policy_has_changed_its_mind() -> None:
    """The last iteration, which is repeated, finds other states then; walks would start from these."""
    task = random_task(298)
    for size in range(3, 15):
        campaign = run_campaign(task, "random:1", pool=size, oracle="undo")
        known = campaign._content.findings(task.name).states()
        runner = partial(PolicyRunner, load_policy("random:2", task))
        settings = dataclasses.replace(campaign.settings, policy="random:2")
        fuzzing = dataclasses.replace(settings.of_planning.fuzzing, max_states=30)
        planning = dataclasses.replace(settings.of_planning, fuzzing=fuzzing)
        settings = dataclasses.replace(settings, planning=planning)
        fuzzer = going_on(task, runner, settings, known)
        fresh = fresh_states(fuzzer, PoolPayload(known, 5, 0.0), None).fresh
        states = [own.state for own in (*known, *fresh)]
        assert len(set(states)) == len(states)
        for row in fresh:
            state = state_of(task, states[row.reference or 0])
            for operator in row.walk:
                state = task.apply(state, operator)
            assert state.values == row.state
