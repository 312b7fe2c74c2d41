"""Campaigns on planning tasks end to end: their verdicts are true, also where several operators have the same name."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.store import open_store
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import MisstepError, UsageError
from misstep.tasks.task import State, Task
from support.campaigns import NOISY, ORACLE, SHARING, told
from support.tasks import random_costs, sas, small_task


def run(task: Task, policy: str, oracle: str = ORACLE, **how: Any) -> Campaign:
    fuzzing = {"preset": "p24", "pool": 20, "patience": 500}
    return run_campaign(task, policy, oracle=oracle, config=SHARING, **{**fuzzing, **how})


@pytest.mark.parametrize(
    "policy", ["heuristic:ff", "noisy:0.4:1+heuristic:ff", "first", "random:3", "optimal"]
)
@pytest.mark.parametrize("name", ["gripper-4", "blocksworld-4", "spanner-3", "floortile-2x2"])
def test_verdicts_of_campaigns_agree_with_the_truth(name: str, policy: str) -> None:
    task = random_costs(small_task(name), seed=6, choices=(0, 1, 3))
    space = StateSpace(task, [task.initial_state])
    for bias in ("none", "detour"):
        found = run(task, policy, fuzz=bias)
        for record in found.records:
            truth = space.h_star[space.find(State(list(map(int, record.state))))]
            cost = record.run.cost if record.run.outcome == "goal" else np.inf
            assert cost is not None
            is_bug = bool(cost > truth)
            assert record.verdict != "BUG" or is_bug
            assert record.verdict != "OPTIMAL" or not is_bug
        assert found.replay(rerun=True).ok


def test_the_exact_oracle_leaves_nothing_open() -> None:
    found = run(small_task("blocksworld-4"), "noisy:0.3:2+heuristic:ff", "exact")
    assert {record.verdict for record in found.records} <= {"BUG", "OPTIMAL"}
    assert len(found) == 20


def renamed(text: str, names: list[str]) -> Task:
    given = iter(names)
    return Task(re.sub(r"(?m)^op\d+$", lambda _: next(given), text).encode(), name="namesakes")


NAMESAKES = renamed(
    sas(
        [5],
        [0],
        [(0, 4)],
        [
            "0\n1\n0 0 0 1\n1",
            "0\n1\n0 0 0 2\n5",
            "0\n1\n0 0 1 0\n1",
            "0\n1\n0 0 2 0\n1",
            "0\n1\n0 0 2 4\n1",
        ],
    ),
    ["go", "go", "back", "back", "win"],
)


@pytest.mark.parametrize("policy", ["first", "heuristic:ff", *(f"random:{i}" for i in range(6))])
def test_operators_of_one_name_that_differ(tmp_path: Path, policy: str) -> None:
    """Operators are known by id, in the store and to the checker: a name is for people."""
    with run(NAMESAKES, policy, "exact", fuzz="none", out=tmp_path / "a") as found:
        costs = {0: 6, 1: 7, 2: 1, 4: 0}
        for record in found.records:
            best = costs[int(record.state[0])]
            is_best = record.run.outcome == "goal" and record.run.cost == best
            assert record.verdict == ("OPTIMAL" if is_best else "BUG")
        failed = sum(record.run.outcome != "goal" for record in found.records)
        assert found.replay(rerun=True).ok
    with open_store(tmp_path / "a") as store:
        store.execute("UPDATE runs SET cost = cost + 1 WHERE outcome != 'goal'")
    with open_campaign(tmp_path / "a") as found:
        wrong = found.replay().report.problems
    assert len(wrong) == failed
    assert all("cost" in str(own) for own in wrong)


def test_walks_over_operators_of_one_name_come_back(tmp_path: Path) -> None:
    """Operators of one name, as disjunctive preconditions give them: resuming must follow the walk that was taken."""
    text = sas(
        [5, 2],
        [0, 0],
        [(0, 4)],
        [
            "0\n1\n0 0 0 1\n1",
            "0\n1\n0 0 0 2\n1",
            "0\n1\n0 0 1 3\n1",
            "0\n1\n0 0 2 4\n1",
            "0\n1\n0 0 3 0\n1",
            "0\n1\n0 1 -1 1\n1",
        ],
    )
    task = renamed(text, ["go", "left", "go", "on", "back", "set"])
    how: dict[str, Any] = {"oracle": "undo, exact", "fuzz": "none"}
    expected = told(run(task, "first", **how))
    run(task, "first", out=tmp_path / "b", **how).close()
    with open_store(tmp_path / "b") as store:
        for table in ("verdicts", "faults", "runs", "knowledge"):
            store.execute(f"DELETE FROM {table}")
        store.execute("DELETE FROM units WHERE stage != 'pool'")
    with run(task, "first", out=tmp_path / "b", resume=True, **how) as found:
        assert told(found) == expected


def test_summary_and_remarks() -> None:
    task = small_task("gripper-4")
    found = run(task, "first")
    total = found.summary
    assert total.finished
    assert total.tested == total.bugs["total"] + total.optimal + total.unknown == len(found)
    assert total.bugs["total"] == len(found.bugs)
    assert total.outcomes == {"loop": len(found)}
    assert any("does not solve the initial state (loop)" in text for text in total.remarks)
    alone = run(task, "first", require_solved=True)
    assert alone.records == []
    assert any("left alone" in text for text in alone.summary.remarks)


def test_one_record_by_its_handle() -> None:
    found = run(small_task("gripper-4"), NOISY, pool=5)
    record = found.records[3]
    assert found.record(3) == found.record("3") == found.record(record.id) == record
    assert found.record(record) is record
    for wrong in ("nonsense", 99, -1, "problem:99"):
        with pytest.raises(MisstepError, match="no record"):
            found.record(wrong)


def test_a_bug_without_a_budget_for_faults_has_none() -> None:
    found = run_campaign(
        *(small_task("gripper-4"), "first"),
        pool=5,
        oracle="exact",
        config={"fault_budget": "none"},
    )
    assert found.bugs
    assert all(record.faults is None for record in found.records)


def test_a_policy_that_changes_between_sessions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("def act(state):\n    return state.operators[0] if state.operators else None\n")
    policy = f"python:{file}:act"
    run(small_task("gripper-4"), policy, out=tmp_path / "c", pool=4).close()
    file.write_text("def act(state):\n    return None\n")
    with open_campaign(tmp_path / "c") as found:
        with pytest.raises(MisstepError, match="has changed"):
            found.resume(pool=6)
        with pytest.raises(MisstepError, match="has changed"):
            found.replay(rerun=True)
        assert len(found) == 4


def test_a_dominance_function_is_computed_when_an_oracle_has_a_use_for_it() -> None:
    """The census decides all states of a small task; an oracle that is asked later compares states all the same."""
    task = small_task("gripper-4")
    found = run_campaign(task, "noisy:0.3:1+optimal", pool=10, oracle="census, bmo(10)")
    assert found._content.findings(task.name).dominance() is None
    assert found.summary.unknown == 0
    found.judge("bmo(10)")
    assert found._content.findings(task.name).dominance() is not None


def test_a_campaign_of_another_thread_is_not_said_to_be_damaged(tmp_path: Path) -> None:
    found: list[Campaign] = []
    task, folder = small_task("gripper-4"), tmp_path / "out"
    work = threading.Thread(
        target=lambda: found.append(run_campaign(task, "first", out=folder, pool=3))
    )
    work.start()
    work.join()
    with pytest.raises(UsageError, match="another thread has opened this campaign"):
        _ = found[0].summary
    assert open_campaign(folder).summary.tested == 3
