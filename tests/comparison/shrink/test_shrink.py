"""Shrinking bugs of small campaigns: what is kept, what is refused, and what an interruption leaves behind."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.store import open_store
from misstep.comparison.shrink import examine, shrunk_of
from misstep.comparison.shrink.api import _refuse_others, in_order
from misstep.errors import InputFileError, InputFormatError, TimeLimitError, UsageError
from misstep.policies.function import StateView
from misstep.policies.trust import _GIVEN
from misstep.tasks.models import generate_model
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


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_half_of_a_small_campaign_is_removed(
    found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("misstep.comparison.shrink.folder.write_inside", refuse)
    folder = copied(found, tmp_path / "copy")
    with opened(folder) as campaign, pytest.raises((InputFileError, KeyboardInterrupt)):
        campaign.shrink(campaign.bugs[0])
    assert list(folder.glob("shrunk/.*.new")) == []


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


FIXED = """
from misstep.comparison.shrink.problem import read_problem
class Fixed:
    '''Takes only tasks that are as large as the first one.'''
    def __init__(self, task):
        problem = read_problem(task.pddl[1])
        if (len(problem.objects), len(problem.goals), len(problem.facts)) != (6, 2, 5):
            raise ValueError("six objects are needed")
    def act(self, state):
        return None
"""


def test_what_was_said_of_a_policy_with_fixed_inputs_is_said_again(tmp_path: Path) -> None:
    """The second call knew nothing of the tasks that the policy had refused, and said that all is minimal."""
    (tmp_path / "fixed.py").write_text(FIXED)
    policy = f"python:{tmp_path / 'fixed.py'}:Fixed"
    task = task_of("gripper", balls=2)
    with misstep.test(task, policy, pool=3, out=tmp_path / "c") as campaign:
        bug = campaign.bugs[0]
        for _ in range(2):
            shrunk = campaign.shrink(bug)
            assert "accepts no other task" in shrunk.reason
            assert not shrunk.minimal
            assert shrunk.objects_after == shrunk.objects_before


def test_what_the_translator_left_undecided_is_not_called_minimal(
    found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = examine.translate_sources  # type: ignore[attr-defined]

    def limited(sources: Any, **options: Any) -> bytes:
        if b"left" not in sources[1].text.encode():
            raise TimeLimitError("the translator was stopped after 60 s")
        return translate(sources, **options)

    monkeypatch.setattr(examine, "translate_sources", limited)
    with opened(copied(found, tmp_path / "c")) as campaign:
        bug = campaign.bugs[0]
        for _ in range(2):  # the second call reads what the first has found
            shrunk = campaign.shrink(bug)
            assert "left" in str(shrunk.problem_text)
            assert not shrunk.minimal
            assert shrunk.note.effort.undecided == 1
            assert "1 removals were left undecided (such as left: the translator" in shrunk.reason


def test_what_was_not_allowed_to_be_removed_is_told(found: Path) -> None:
    with opened(found) as campaign:
        shrunk = campaign.shrink(campaign.bugs[0], legal="reachable", again=True)
    assert shrunk.minimal
    assert "no single remaining goal" in shrunk.reason


def model_campaign(folder: Path, extra: int, *, low: int = 0) -> Campaign:
    """A model with a constant that widens the range of a variable; below `low` it is no model."""
    document = generate_model("one-way-line", cells=6, packages=2, vmax=3, drop=True).document
    document["constants"] = [{"name": "extra", "type": "int"}]
    bound = {"op": "+", "left": 2, "right": {"op": "-", "left": "extra", "right": low}}
    document["variables"][0]["type"]["upper-bound"] = bound
    file = folder / "model.jani"
    file.write_text(json.dumps(document))
    model = misstep.load_task(file, constants={"extra": extra})
    return misstep.test(model, "first", runs=50, out=folder / "c")


def test_constants_that_were_not_tried_are_told(tmp_path: Path) -> None:
    with model_campaign(tmp_path, 40, low=20) as campaign:
        shrunk = campaign.shrink(campaign.bugs[0])
        assert not shrunk.minimal
        assert "of extra only values below 16 were tried" in shrunk.reason


def test_a_start_of_a_model_that_must_be_reachable_is_not_taken_from_another_search(
    tmp_path: Path,
) -> None:
    with model_campaign(tmp_path, 4) as campaign:
        for bug in campaign.bugs:
            free = campaign.shrink(bug)
            assert free.minimal
            assert free.reason.startswith("1-minimal: no changed variable")
            bound = campaign.shrink(bug, legal="reachable")
            assert bound.note.allowed == "reachable"
            assert bound.record.state in (bug.run.states or ())
            if free.note.after.changed != bound.note.after.changed:
                break
        else:
            pytest.fail("no start was changed")
