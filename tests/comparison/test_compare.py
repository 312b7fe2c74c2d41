"""The comparison of campaigns."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.comparison.changes import change_of
from misstep.comparison.compare import Comparison, compare
from misstep.comparison.sides import Side, numbers_of
from misstep.errors import InputFormatError, UsageError
from misstep.tasks.task import Task
from support.campaigns import small_model
from support.commands import misstep as command
from support.commands import result_of
from support.records import record
from support.tasks import generated_task, small_task
from support.worlds import world

api: Any = misstep  # without its types
BAD = "noisy:0.3:1+heuristic:ff"


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task("gripper-4")


@pytest.fixture(scope="module")
def before(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    out = tmp_path_factory.mktemp("compared") / "before"
    return misstep.test(task, BAD, pool=30, out=out)


@pytest.fixture(scope="module")
def after(before: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    out = tmp_path_factory.mktemp("compared") / "after"
    return misstep.test(None, "heuristic:ff", pool_from=before, out=out)


def side(label: str, records: list[misstep.Record], **given: Any) -> Side:
    """A made-up campaign in which each record is of the task that it names."""
    found = {(own.task, own.state): own for own in records}
    numbers = numbers_of(records)
    values: dict[str, Any] = {
        "label": label,
        "folder": None,
        "world": "planning",
        "policy": "first",
        "digest": "0",
        "oracles": ("none",),
        "settings": {},
        "tasks": {own.task: own.task for own in records},
        "records": found,
        "all": numbers,
        "common": numbers,
        "finished": True,
    }
    return Side(**(values | given))


BUG: dict[str, Any] = {"verdict": "BUG", "kind": "costly", "cost": 5, "bounds": (0, 4)}
FINE: dict[str, Any] = {"verdict": "OPTIMAL", "cost": 4, "bounds": (4, 4)}


# -- real campaigns -------------------------------------------------------------------------------


def test_on_common_states_the_words_are_true(before: Campaign, after: Campaign) -> None:
    """Against exact distances: what is fixed costs no more than a cheapest plan, what is a bug costs more."""
    truth = world("gripper-4", ())
    found = compare(before, after)
    assert found.common_states == len(before) == len(after)
    changes = found.changes()
    assert {change.word for change in changes} == {"fixed", "better"}
    for change in changes:
        run = change.after.run
        spent = run.cost if run.outcome == "goal" else math.inf
        assert spent is not None
        is_bug = spent > truth.h_star(misstep.State([int(value) for value in change.after.state]))
        assert is_bug == change.after.is_bug
        if change.word == "fixed":  # as good as the old witness, and no better than the best plan
            bounds = change.before.bounds
            assert bounds is not None
            assert bounds[1] is not None
            assert spent <= bounds[1]
        else:
            assert is_bug == change.is_bug
        assert change == change_of(change.before, change.after)
    assert sum(found.change_counts().values()) == len(changes)


def test_numbers_are_those_of_the_summaries(before: Campaign, after: Campaign) -> None:
    found = compare(before, after)
    for own, campaign in zip(found.campaigns, (before, after), strict=True):
        summary = campaign.summary
        assert own.counts["tested"] == summary.tested
        assert own.counts["bugs"] == summary.bugs["total"]
        assert own.counts["optimal"] == summary.optimal
        assert own.counts["solved"] == summary.solved
        share = own.intervals["all"]
        assert (share.count, share.total) == (summary.bugs["total"], summary.tested)
        assert own.all.by_oracle == summary.by_oracle


def test_the_heading_names_what_differs(before: Campaign, after: Campaign, task: Task) -> None:
    found = compare(before, after)
    assert found.differs["policy"] == [BAD, "heuristic:ff"]
    assert "seed" not in found.differs
    assert "--pool" not in found.differs  # the second campaign has the states of the first
    other = misstep.test(task, BAD, pool=30, seed=7, fuzz="loop")
    differs = compare(before, other, labels=["one", "two"]).differs
    assert list(differs) == ["seed", "bias (--fuzz)"]
    assert "policy: " + BAD in str(compare(before, other))
    assert compare(before, before).differs == {}
    assert "have the same policy" in str(compare(before, before))


def test_families_that_went(before: Campaign, after: Campaign) -> None:
    families = compare(before, after).families()
    assert families.came == {}
    for number, campaign in enumerate((before, after)):
        named = Counter(own.family for own in campaign.bugs if own.family is not None)
        stayed = {key: counts[number] for key, counts in families.stayed.items()}
        assert named == stayed | (families.went if number == 0 else {})
    back = compare(after, before).families()
    assert back.came == families.went != {}
    assert "came    " + next(iter(back.came)) in str(compare(after, before))


def test_oracles_are_compared_on_the_same_pool(task: Task) -> None:
    own = misstep.test(task, BAD, pool=12, oracle="undo")
    both = misstep.test(task, BAD, pool=12, oracle="undo").judge("census")
    found = compare(own, both, labels=["undo alone", "both"])
    assert found.differs["oracle"] == ["undo", "undo, then census"]
    common = [s.common.by_oracle for s in found.campaigns]
    assert common[0]["undo"] == common[1]["undo"]
    assert common[1]["census"]["unknown"] == 0
    assert "both: census" in str(found)
    plain = found.as_dict()["campaigns"][1]["common"]["by_oracle"]["census"]
    assert plain["bugs"]["count"] == common[1]["census"]["bugs"]


def test_models_are_compared_too() -> None:
    model = small_model("one-way-line")
    first, second = (misstep.test(model, f"random:{k}", runs=40) for k in (1, 2))
    found = compare(first, second)
    assert found.world == "model"
    words = {change.word for change in found.changes()}
    assert words <= {"still", "clean", "better", "worse", "undecided", "new", "fixed", "uncovered"}
    assert all(test.measure == "bugs" for test in found.tests)
    assert "not bugs" in str(found)
    with pytest.raises(UsageError, match="planning tasks and on models cannot be compared"):
        compare(first, misstep.test(small_task("gripper-4"), "first", pool=2))


def test_no_common_state_is_said() -> None:
    first, second = (generated_task("gripper", balls=balls) for balls in (2, 3))
    first.name, second.name = "two", "three"
    found = compare(*(misstep.test(task, BAD, pool=3) for task in (first, second)))
    assert found.common_states == 0
    assert found.changes() == []
    assert "no state is common to all campaigns" in str(found)
    assert not found.families().common
    assert "tasks" in found.differs


def test_a_name_for_two_tasks_is_refused(before: Campaign) -> None:
    other = generated_task("gripper", balls=2)
    other.name = before.tasks[0].name
    with pytest.raises(InputFormatError, match=f"the task {other.name} is not the same in before"):
        compare(before, misstep.test(other, "first", pool=2))


def test_a_task_of_another_name_is_the_same_task(before: Campaign) -> None:
    renamed = small_task("gripper-4")
    again = misstep.load_task(renamed)
    assert isinstance(again, Task)
    copy = Task(renamed.source["files"]["task.sas"], name="other", pddl=renamed.pddl)
    assert copy.digest == renamed.digest
    found = compare(before, misstep.test(copy, BAD, pool=30))
    assert found.common_states == len(before)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: api.compare(c), r"1 campaign\(s\) to compare; expected two or more"),
        (lambda c: api.compare(c, 5), "5 is not a campaign"),
        (lambda c: api.compare(c, c, labels=["a"]), "1 labels for 2 campaigns"),
        (lambda c: api.compare(c, c, labels=["a", "a"]), "2 labels for 2 campaigns"),
        (lambda c: api.compare(c, c, labels="ab"), "labels is 'ab'; expected a list of texts"),
        (lambda c: api.compare(c, c).changes(0, 2), "no campaign 2; expected a number from 0 to 1"),
        (lambda c: api.compare(c, c).changes(0, True), "True is not a campaign"),
    ],
)
def test_wrong_values_say_what_is_taken(call: Any, text: str, before: Campaign) -> None:
    with pytest.raises(UsageError, match=text):
        call(before)


# -- paired tests ---------------------------------------------------------------------------------


def tasks_with(bugs: list[int], states: int = 4) -> list[misstep.Record]:
    """Of each task so many bugs."""
    return [
        record(number, task=f"t{k}", **(BUG if number < count else FINE))
        for k, count in enumerate(bugs)
        for number in range(states)
    ]


def test_five_tasks_are_too_few() -> None:
    few = Comparison([side("a", tasks_with([4] * 5)), side("b", tasks_with([0] * 5))])
    assert {test.problem for test in few.tests} == {"too few tasks (5; at least 6 are needed)"}
    assert "too few tasks (5; at least 6 are needed)" in str(few)


def test_settings_that_a_retest_makes_are_told_in_words(before: Campaign) -> None:
    said = str(compare(before, before.retest("heuristic:ff").campaign, labels=["old", "new"]))
    assert said.startswith("The campaigns differ in: policy, how it was made.\n")
    assert "blame_most" not in said
    row = next(line for line in said.splitlines() if line.startswith("how it was made"))
    assert row.split()[-2:] == ["test", "retest"]


def test_six_tasks_that_all_differ_are_enough() -> None:
    found = Comparison([side("a", tasks_with([4] * 6)), side("b", tasks_with([0] * 6))])
    bugs, solved = found.tests
    assert bugs.p_value == bugs.corrected == 2 / 64
    assert bugs.difference is not None
    assert (bugs.difference.value, bugs.difference.low, bugs.difference.high) == (-1, -1, -1)
    assert (solved.p_value, solved.corrected) == (1.0, 1.0)
    assert "-100.0 percentage points [-100.0, -100.0] over 6 tasks, p = 0.0312" in str(found)


def test_three_campaigns_are_corrected_for_three_pairs() -> None:
    sides = [side(name, tasks_with([n] * 8)) for name, n in (("a", 4), ("b", 2), ("c", 0))]
    bugs = [test for test in Comparison(sides).tests if test.measure == "bugs"]
    assert [(test.first, test.second) for test in bugs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [test.corrected for test in bugs] == [3 * 2 / 256] * 3
    assert all(test.corrected < 0.05 for test in bugs if test.corrected is not None)


# -- the command ----------------------------------------------------------------------------------


def test_the_command(before: Campaign, after: Campaign) -> None:
    assert before.folder is not None
    assert after.folder is not None
    plain = result_of("compare", before.folder, after.folder)
    assert plain == compare(before, after).as_dict() | {
        "campaigns": [
            own | {"campaign": str(folder)}
            for own, folder in zip(
                compare(before, after).as_dict()["campaigns"],
                (before.folder, after.folder),
                strict=True,
            )
        ]
    }
    shown = command("compare", before.folder, after.folder, "--label", "old", "--label", "new")
    assert shown.returncode == 0
    assert "from old to new, on 30 common states" in shown.stdout


def test_the_command_refuses_what_is_no_pair(before: Campaign, tmp_path: Path) -> None:
    assert before.folder is not None
    assert command("compare", before.folder).returncode == 2
    assert command("compare", before.folder, tmp_path).returncode == 30
