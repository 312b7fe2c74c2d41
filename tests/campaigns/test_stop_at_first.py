"""A campaign that ends at its first bug: the bug does not depend on the processes, and the campaign can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.errors import UsageError
from misstep.tasks.task import Task
from support.campaigns import BATCHES, SHARING, small_model, told
from support.tasks import generated_task
from support.unsteady import PLANNING

RARE = "noisy:0.1:1+heuristic:ff"  # has bugs, but not in every state
CONFIG: dict[str, Any] = SHARING["planning"]


def two_tasks() -> list[Task]:
    tasks = [generated_task("gripper", balls=balls) for balls in (2, 3)]
    for name, task in zip("ab", tasks, strict=True):
        task.name = name
    return tasks


def stopped(**given: Any) -> Campaign:
    return misstep.test(two_tasks(), RARE, pool=30, stop_at_first=True, **CONFIG, **given)


def test_it_ends_after_the_round_of_the_first_bug() -> None:
    campaign = stopped()
    rounds = CONFIG["chunk"] * CONFIG["round"]
    assert campaign.bugs
    assert len(campaign) < campaign.summary.states
    assert campaign.bugs[0].number // rounds == (len(campaign) - 1) // rounds
    assert {record.task for record in campaign.records} == {"a"}
    assert not campaign.finished
    assert campaign.bugs[0].family is not None  # it is blamed as well
    assert any("stopped at the first bug" in text for text in campaign.summary.remarks)


def test_two_processes_stop_where_one_does() -> None:
    assert told(stopped(jobs=2)) == told(stopped())


def test_what_goes_on_ends_with_the_same_records() -> None:
    whole = misstep.test(two_tasks(), RARE, pool=30, **CONFIG)
    campaign = stopped()
    first = told(campaign)
    campaign.resume(stop_at_first=True)  # there is a bug already
    assert told(campaign) == first
    campaign.resume()
    assert campaign.finished
    assert not any("stopped at the first bug" in text for text in campaign.summary.remarks)
    assert told(campaign) == told(whole)


def test_a_function_says_what_is_enough() -> None:
    whole = misstep.test(two_tasks(), RARE, pool=30, **CONFIG)
    wanted = next(record for record in whole.bugs if record.task == "b")

    def enough(record: misstep.Record) -> bool:
        return record.state == wanted.state and record.task == "b" and record.is_bug

    campaign = misstep.test(two_tasks(), RARE, pool=30, stop_at_first=enough, **CONFIG)
    assert not campaign.finished
    assert wanted.id in {record.id for record in campaign.bugs}
    campaign.resume()
    assert told(campaign) == told(whole)


def test_without_a_bug_all_is_done() -> None:
    campaign = misstep.test(two_tasks()[0], "optimal", pool=10, stop_at_first=True)
    assert campaign.finished
    assert len(campaign) == 10


def test_a_bug_that_is_not_confirmed_does_not_count(tmp_path: Path) -> None:
    """Of a policy that throws coins, bugs turn out to be FLAKY when it is asked again."""
    (tmp_path / "unsteady.py").write_text(PLANNING)
    policy = f"python:{tmp_path / 'unsteady.py'}:Random"
    campaign = misstep.test(two_tasks()[0], policy, pool=10, stop_at_first=True, **CONFIG)
    assert campaign.bugs == []
    assert campaign.summary.flaky
    assert campaign.finished


def test_models_stop_after_a_round_of_batches() -> None:
    model = small_model("one-way-line")
    settings: dict[str, Any] = {**BATCHES["model"], "runs": 80, "batch": 1}
    campaign = misstep.test(model, "random:1", stop_at_first=True, **settings)
    again = misstep.test(model, "random:1", stop_at_first=True, jobs=2, **settings)
    whole = misstep.test(model, "random:1", **settings)
    assert campaign.bugs
    assert not campaign.finished
    assert told(campaign) == told(again)
    assert len(campaign) < len(whole)
    campaign.resume()
    assert told(campaign) == told(whole)


def test_what_is_neither_true_nor_a_function_is_refused() -> None:
    wrong: Any = "yes"
    with pytest.raises(UsageError, match="stop_at_first is 'yes'; expected True or False"):
        misstep.test(two_tasks()[0], RARE, stop_at_first=wrong)
