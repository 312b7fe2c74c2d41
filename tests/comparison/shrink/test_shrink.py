"""Shrinking bugs of small campaigns: what is kept, what is refused, and what an interruption leaves behind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.store import open_store
from misstep.comparison.shrink import shrunk_of
from misstep.comparison.shrink.api import _refuse_others, in_order
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.policies.function import StateView
from misstep.policies.trust import _GIVEN
from support.records import record
from support.small import task_of


def lazy(view: StateView) -> str | None:
    """Never picks up a ball; stops where there is none in the hands."""
    names = [view.task.operator_name(op) for op in view.task.applicable(view.state)]
    return next((name for name in names if name.startswith("drop")), None)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shrink") / "found"
    misstep.test(task_of("gripper", balls=2), "first", pool=5, out=folder).close()
    return folder


def opened(folder: Path) -> Campaign:
    return misstep.open_campaign(folder)


def copied(found: Path, folder: Path) -> Path:
    with misstep.open_campaign(found) as campaign:
        campaign.save(folder).close()
    return folder


def test_a_bug_becomes_small_and_is_kept(found: Path, tmp_path: Path) -> None:
    folder = copied(found, tmp_path / "copy")
    with opened(folder) as campaign:
        bug = campaign.bugs[0]
        assert shrunk_of(campaign, bug) is None
        shrunk = campaign.shrink(bug)
        assert (shrunk.objects_before, shrunk.objects_after) == (6, 4)
        assert shrunk.minimal
        assert shrunk.legal == "mutex"
        assert shrunk.record.family == bug.family is not None
        assert shrunk.campaign.replay().ok
        assert shrunk.campaign.replay("first").ok
        assert bug.family.split()[0] in str(shrunk.campaign.explain(shrunk.record.id))
        place = folder / "shrunk" / f"{bug.task}-{bug.number}"
        assert shrunk.campaign.folder == place
        assert (place / "problem.pddl").read_text() == shrunk.problem_text
        assert (place / "plan").read_text() == shrunk.plan_text
        task = misstep.load_task(place)
        assert task.digest == shrunk.task.digest
        # The second time it is only read.
        assert campaign.shrink(bug).as_dict() == shrunk.as_dict()
        read = shrunk_of(campaign, bug)
        assert read is not None
        assert read.as_dict() == shrunk.as_dict()


@pytest.mark.soundness
@pytest.mark.parametrize("stop", [2, 4, 6])
def test_an_interruption_keeps_what_was_reached(found: Path, tmp_path: Path, stop: int) -> None:
    def interrupting(_: str, done: int, __: int) -> None:
        if done >= stop:
            raise KeyboardInterrupt

    folder = copied(found, tmp_path / "copy")
    with opened(found) as campaign:
        expected = campaign.shrink(campaign.bugs[0])
    with opened(folder) as campaign:
        bug = campaign.bugs[0]
        with pytest.raises(KeyboardInterrupt):
            campaign.shrink(bug, progress=interrupting)
        reached = shrunk_of(campaign, bug)
        assert reached is not None
        assert not reached.minimal
        assert "interrupted" in reached.reason
        assert reached.campaign.replay().ok
        shrunk = campaign.shrink(bug)
        assert shrunk.problem_text == expected.problem_text
        assert shrunk.minimal


@pytest.mark.soundness
def test_limits_are_named_and_a_second_call_goes_on(found: Path, tmp_path: Path) -> None:
    with opened(copied(found, tmp_path / "copy")) as campaign:
        bug = campaign.bugs[0]
        first = campaign.shrink(bug, candidates=2)
        assert not first.minimal
        assert first.reason == "the limit of 2 candidates ended the search"
        while not (shrunk := campaign.shrink(bug, candidates=4)).minimal:
            assert "4 candidates" in shrunk.reason
        assert shrunk.objects_after == 4


def test_reachable_leaves_the_state_alone(found: Path) -> None:
    with opened(found) as campaign:
        in_memory = misstep.test(task_of("gripper", balls=2), "first", pool=2)
        shrunk = in_memory.shrink(in_memory.bugs[0], legal="reachable")
        assert shrunk.legal == "reachable"
        assert shrunk.objects_after == shrunk.objects_before
        assert shrunk.note.after.goals == 1
        assert campaign.bugs


def test_what_cannot_be_shrunk_is_said(found: Path) -> None:
    with opened(found) as campaign:
        with pytest.raises(UsageError, match="no record"):
            campaign.shrink("nobody:7")
        with pytest.raises(UsageError, match="legal is 'all'"):
            campaign.shrink(campaign.bugs[0], legal="all")
        with pytest.raises(UsageError, match="jobs is 0"):
            campaign.shrink(campaign.bugs[0], jobs=0)
        bug = campaign.bugs[0]
        with pytest.raises(
            UsageError, match=r"is not a bug: FLAKY \(the policy contradicts itself"
        ):
            _refuse_others(campaign, replace(bug, verdict="FLAKY"))
        with pytest.raises(UsageError, match="the campaign is not finished"):
            _refuse_others(campaign, replace(bug, faults=None))
    good = misstep.test(task_of("gripper", balls=1), "optimal", pool=2)
    with pytest.raises(UsageError, match="is not a bug: OPTIMAL"):
        good.shrink(good.records[0])


def test_a_stored_policy_needs_the_users_word(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def act(view):\n    return None\n")
    misstep.test(
        task_of("gripper", balls=1), f"python:{file}:act", pool=1, out=tmp_path / "found"
    ).close()
    _GIVEN.clear()
    with misstep.open_campaign(tmp_path / "found") as campaign:
        bug = campaign.bugs[0]
        with pytest.raises(UsageError, match="would run code"):
            campaign.shrink(bug)
        assert shrunk_of(campaign, bug) is None


def test_links_are_not_followed(found: Path, tmp_path: Path) -> None:
    folder = copied(found, tmp_path / "copy")
    (tmp_path / "elsewhere").mkdir()
    (folder / "shrunk").symlink_to(tmp_path / "elsewhere")
    with opened(folder) as campaign:
        with pytest.raises(InputFileError, match="symbolic link"):
            shrunk_of(campaign, campaign.bugs[0])
        with pytest.raises(InputFileError, match="symbolic link"):
            campaign.shrink(campaign.bugs[0])
    assert not list((tmp_path / "elsewhere").iterdir())


def _lose_a_field(note: dict[str, Any]) -> None:
    del note["legal"]


def _another_id(note: dict[str, Any]) -> None:
    note["id"] = "other:1"


def _no_number(note: dict[str, Any]) -> None:
    note["number"] = 7


def _nowhere(note: dict[str, Any]) -> None:
    note["position"] = {"phase": 99}


@pytest.mark.parametrize("damage", [_lose_a_field, _another_id, _no_number, _nowhere])
def test_a_damaged_note_is_noticed_and_made_again(found: Path, tmp_path: Path, damage: Any) -> None:
    folder = copied(found, tmp_path / "copy")
    with opened(folder) as campaign:
        bug = campaign.bugs[0]
        place = campaign.shrink(bug, candidates=1).campaign.folder
        assert place is not None
        with open_store(place) as store:
            note = json.loads(store.meta("shrunk"))
            damage(note)
            store.set_meta("shrunk", json.dumps(note))
        with pytest.raises(InputFormatError):
            shrunk_of(campaign, bug)
        assert campaign.shrink(bug, candidates=1).reason


@pytest.mark.soundness
def test_a_replacement_that_was_killed_half_way_is_undone(found: Path, tmp_path: Path) -> None:
    with opened(copied(found, tmp_path / "copy")) as campaign:
        bug = campaign.bugs[0]
        shrunk = campaign.shrink(bug)
        place = shrunk.campaign.folder
        assert place is not None
        shrunk.campaign.close()
        place.rename(place.with_name(f".{place.name}.old"))
        again = campaign.shrink(bug)
        assert again.note.effort == shrunk.note.effort


@pytest.mark.soundness
def test_a_policy_that_takes_no_other_task_keeps_its_task() -> None:
    task = task_of("gripper", balls=2)
    policy = misstep.load_policy(lazy, task)
    campaign = misstep.test(task, policy, pool=12)
    # One whose faults do not lie in the initial state, where the task is the policy's own.
    initial = tuple(task.initial_state.values)
    faulty = [bug for bug in campaign.bugs if bug.faults]
    bug = next(bug for bug in faulty if initial not in {own.state for own in bug.faults or ()})
    shrunk = campaign.shrink(bug)
    assert shrunk.record.number == 1
    assert shrunk.record.state in {own.state for own in bug.faults or ()}
    assert shrunk.record.family == bug.family
    assert not shrunk.minimal
    assert "accepts no other task" in shrunk.reason
    assert shrunk.record.is_bug
    assert shrunk.task.digest == task.digest
    assert shrunk.campaign.replay().ok
    assert shrunk.note.after.walk is not None


@pytest.mark.soundness
def test_a_task_without_pddl_loses_its_goals(tmp_path: Path) -> None:
    file = tmp_path / "task.sas"
    file.write_bytes(task_of("gripper", balls=2).sas)
    campaign = misstep.test(misstep.load_task(file), "first", pool=3)
    shrunk = campaign.shrink(campaign.bugs[0])
    assert (shrunk.note.before.goals, shrunk.note.after.goals) == (2, 1)
    assert "no PDDL" in shrunk.reason
    assert shrunk.problem_text is None
    assert shrunk.campaign.replay().ok


def test_one_of_each_family_comes_first() -> None:
    bugs = [
        record(number, verdict="BUG", kind="fails", family=family)
        for number, family in enumerate(["a", "b", "b", "a", "b", None])
    ]
    assert [bug.number for bug in in_order(bugs)] == [1, 0, 5, 2, 3, 4]
