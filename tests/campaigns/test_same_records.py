"""Records do not depend on the number of processes, on batches or on where they are kept, on tasks and on models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import MisstepError
from misstep.tasks.generate import generate
from misstep.tasks.load import AnyTask, load_task
from support.campaigns import BATCHES, NOISY, ORACLE, SHARING, small_model, told
from support.tasks import small_task


def planning(task: AnyTask | None = None, policy: Any = NOISY, **how: Any) -> list[dict[str, Any]]:
    task = task or small_task("blocksworld-4")
    options: dict[str, Any] = {"pool": 20, "oracle": ORACLE, "config": SHARING}
    with run_campaign(task, policy, **{**options, **how}) as found:
        return told(found)


def model(
    task: AnyTask | None = None, policy: Any = "random:3", **how: Any
) -> list[dict[str, Any]]:
    task = task or small_model("two-way-line")
    with run_campaign(task, policy, **{"runs": 60, "config": BATCHES, **how}) as found:
        return told(found)


@pytest.mark.parametrize("jobs", [2, 4])
def test_records_on_tasks_do_not_depend_on_the_number_of_processes(jobs: int) -> None:
    expected = planning()
    assert {row["verdict"] for row in expected} >= {"BUG"}
    assert planning(jobs=jobs, batch_size=64) == expected


@pytest.mark.parametrize("jobs", [2, 4])
def test_records_on_models_do_not_depend_on_the_number_of_processes(jobs: int) -> None:
    expected = model()
    assert {row["verdict"] for row in expected} == {"BUG", "NOT A BUG"}
    assert model(jobs=jobs, batch_size=64) == expected


def test_records_do_not_depend_on_the_size_of_batches() -> None:
    assert planning(batch_size=1) == planning(batch_size=64) == planning()
    assert model(batch_size=1) == model(batch_size=64) == model()


def test_processes_do_not_matter_where_states_are_compared() -> None:
    """States of the pool are compared across chunks and rounds, through the store."""
    task = small_task("gripper-4")
    how: dict[str, Any] = {"oracle": "bmo(10), bmo(20)+aras/ehc", "pool": 30}
    expected = planning(task, "noisy:0.2:3+optimal", **how)
    assert planning(task, "noisy:0.2:3+optimal", jobs=2, batch_size=1, **how) == expected


def test_several_tasks_and_processes() -> None:
    """Workers that have nothing to do in a round of the first task work on units of the next one."""
    tasks: Any = [
        load_task(generate("gripper", balls=3)),
        load_task(generate("spanner", spanners=3, nuts=2, locations=3)),
        load_task(generate("ferry", cars=3, locations=3)),
    ]
    expected = planning(tasks)
    assert list(dict.fromkeys(row["task"] for row in expected)) == [task.name for task in tasks]
    assert planning(tasks, jobs=2) == expected
    alone = [row for task in tasks for row in planning(task)]
    assert alone == expected


@pytest.mark.parametrize("oracle", ["lookahead(1)", "undo", "bmo(10)+aras/ehc"])
def test_batches_do_not_matter_where_runs_are_cut(oracle: str) -> None:
    how: dict[str, Any] = {"oracle": oracle, "max_steps": 5}
    task, policy = small_task("gripper-4"), "noisy:0.15:3+optimal"
    expected = planning(task, policy, **how)
    assert any(row["verdict"] == "BUG" for row in expected) or oracle == "undo"
    assert planning(task, policy, batch_size=1, **how) == expected


def test_processes_do_not_matter_where_runs_are_cut() -> None:
    how: dict[str, Any] = {"oracle": "bmo(10)+aras/ehc", "max_steps": 5}
    task, policy = small_task("gripper-4"), "noisy:0.15:3+optimal"
    assert planning(task, policy, jobs=2, **how) == planning(task, policy, **how)


def test_records_in_memory_and_in_a_folder_are_the_same(tmp_path: Path) -> None:
    for number, campaign in enumerate((planning, model)):
        expected = campaign()
        assert campaign(out=tmp_path / str(number)) == expected
        with open_campaign(tmp_path / str(number)) as again:
            assert told(again) == expected


def test_a_saved_campaign_is_the_same(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    with run_campaign(task, NOISY, pool=12, oracle=ORACLE) as found:
        with found.save(tmp_path / "saved") as saved:
            assert told(saved) == told(found)
            assert saved.summary.as_dict() | {"campaign": None} == found.summary.as_dict()
            # It goes on as one that was kept in a folder from the beginning.
            saved.resume(pool=16)
            assert len(saved) == 16
        with pytest.raises(MisstepError, match="a campaign in this folder already"):
            found.save(tmp_path / "saved")


class Ranked:
    """Takes the first label that applies, as the policy `first` does."""

    def act(self, _: dict[str, Any]) -> str:
        return "pick"

    def values(self, _: dict[str, Any]) -> dict[str, float]:
        return {"pick": 5, "drop": 4, "acc": 3, "dec": 2, "move": 1}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_that_exists_only_in_memory(tmp_path: Path, jobs: int) -> None:
    """It reaches other processes by a fork."""
    task, chosen = small_task("gripper-4"), 0
    how: dict[str, Any] = {"pool": 12, "oracle": ORACLE, "config": SHARING, "jobs": jobs}
    found = run_campaign(task, lambda state: state.operators[chosen], out=tmp_path / "c", **how)
    with found:
        rows = told(found)
        assert rows == planning(task, "first", pool=12)
        assert found.replay(rerun=True).ok
    assert model(policy=Ranked(), jobs=jobs) == model(policy="first") != []
    with open_campaign(tmp_path / "c") as again:
        assert told(again) == rows
        with pytest.raises(MisstepError, match=r"existed only in memory.*open_campaign"):
            again.resume(pool=20)
