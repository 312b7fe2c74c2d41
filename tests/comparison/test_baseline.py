"""The file of known bugs: what it keeps, that it is stable, and what is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.comparison.baseline import Baseline, state_digest
from misstep.errors import InputFileError, InputFormatError
from support.campaigns import small_model
from support.tasks import generated_task, small_task

BAD = "noisy:0.3:1+heuristic:ff"


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return misstep.test(generated_task("gripper", balls=3), BAD, pool=25, oracle="undo, lmcut")


def test_what_is_written_is_read(campaign: Campaign, tmp_path: Path) -> None:
    own = Baseline.of(campaign)
    own.write(tmp_path / "known.json")
    read = Baseline.read(tmp_path / "known.json")
    assert (read.tasks, read.policy, read.digest) == (own.tasks, own.policy, own.digest)
    assert read.bugs == own.bugs
    assert read.families == own.families
    assert read.states.keys() == own.states.keys()
    assert [known.verdict for known in read.states.values()].count("BUG") == len(campaign.bugs)
    # Of undecided states what the policy spent is kept, of fine ones nothing.
    for record in campaign.records:
        known = read.states[state_digest(own.tasks[record.task], record.state)]
        if record.verdict == "UNKNOWN" and record.run.outcome == "goal":
            assert known.cost == record.run.cost
    assert read.text() == own.text()


def test_models_have_baselines_with_radii(tmp_path: Path) -> None:
    campaign = misstep.test(small_model("one-way-line"), "random:1", runs=40)
    own = Baseline.of(campaign)
    own.write(tmp_path / "known.json")
    assert Baseline.read(tmp_path / "known.json").bugs == own.bugs
    radii = {record.radius for record in campaign.bugs}
    assert {known.radius for known in own.bugs.values()} == radii


def test_the_folder_of_a_campaign_is_a_baseline(campaign: Campaign, tmp_path: Path) -> None:
    campaign.save(tmp_path / "found").close()
    assert Baseline.read(tmp_path / "found").states == Baseline.of(campaign).states


def test_the_file_is_sorted_and_one_line_a_bug(campaign: Campaign) -> None:
    text = Baseline.of(campaign).text()
    plain = json.loads(text)
    (task,) = plain["tasks"].values()
    assert list(task["bugs"]) == sorted(task["bugs"])
    assert list(plain["families"]) == sorted(plain["families"])
    assert task["fine"].split() == sorted(task["fine"].split())
    lines = [line for line in text.splitlines() if '"kind"' in line]
    assert len(lines) == len(campaign.bugs)
    assert len(text) < 250 * len(campaign) + 1000


def test_one_bug_less_is_one_line_less(campaign: Campaign) -> None:
    """So that a change of the file reads like a change of the policy."""
    own = Baseline.of(campaign)
    lost = next(iter(own.bugs))
    states = {key: known for key, known in own.states.items() if key != lost}
    (task,) = own.of_task
    smaller = Baseline(
        own.world,
        own.policy,
        own.digest,
        own.tasks,
        states,
        {task: [key for key in own.of_task[task] if key != lost]},
    )
    gone = set(own.text().splitlines()) - set(smaller.text().splitlines())
    assert len([line for line in gone if '"kind"' in line and lost not in line]) <= 1  # a comma
    assert any(lost in line for line in gone)
    assert len(gone) <= 3


def test_names_of_tasks_are_escaped(tmp_path: Path) -> None:
    task = generated_task("gripper", balls=2)
    task.name = 'odd "name"\r\x1b[31m'
    own = Baseline.of(misstep.test(task, "first", pool=2))
    assert "\x1b" not in own.text()
    own.write(tmp_path / "known.json")
    assert Baseline.read(tmp_path / "known.json").tasks == own.tasks


# -- what is refused ------------------------------------------------------------------------------


def changed(campaign: Campaign, change: Any) -> str:
    plain = json.loads(Baseline.of(campaign).text())
    change(plain)
    return json.dumps(plain)


def the_task(plain: dict[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = next(iter(plain["tasks"].values()))
    return own


def a_bug(plain: dict[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = next(iter(the_task(plain)["bugs"].values()))
    return own


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda p: p.update(format="junit"), "the field format is not 'misstep baseline'"),
        (lambda p: p.update(version=2), "it has the version 2, but this Misstep reads 1"),
        (lambda p: p.update(world="moon"), "the field world is neither"),
        (lambda p: p.update(policy=[]), "the field policy is not an object"),
        (lambda p: p.update(policy={"spec": 5}), "the field policy has no spec"),
        (lambda p: p.update(tasks={}), "it names no task"),
        (lambda p: p.update(tasks={"a": 5}), "is not an object"),
        (lambda p: p.update(families={}), "the field families does not fit the bugs"),
        (lambda p: the_task(p).update(digest=None), "has no digest"),
        (lambda p: the_task(p).update(fine=5), "has no field fine"),
        (lambda p: the_task(p).update(fine="xyz"), "'xyz' is not the digest of a state"),
        (
            lambda p: the_task(p).update(open="0123456789ab"),
            "is not the digest of a state with a cost",
        ),
        (lambda p: the_task(p)["bugs"].update({"..": {}}), "'..' is not the digest of a state"),
        (lambda p: a_bug(p).update(kind="nice"), "has no kind that is known"),
        (lambda p: a_bug(p).update(family=5), "has no family and outcome"),
        (lambda p: a_bug(p).update(cost="4"), "'4' where a number is expected"),
        (lambda p: a_bug(p).update(enough=-1), "-1 where a number is expected"),
        (lambda p: a_bug(p).update(gap=True), "True where a number is expected"),
    ],
)
def test_damaged_files_are_refused(
    campaign: Campaign, change: Any, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "known.json"
    path.write_text(changed(campaign, change))
    with pytest.raises(InputFormatError) as error:
        Baseline.read(path)
    assert text in str(error.value)
    assert str(path) in str(error.value)
    assert "--write-baseline" in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 1000, b"[1]", b'{"a": NaN}'])
def test_what_is_no_baseline_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_bytes(content)
    with pytest.raises(InputFormatError, match="this is not a baseline"):
        Baseline.read(tmp_path / "known.json")


def test_damage_anywhere_is_an_error_of_the_file_or_none(
    campaign: Campaign, tmp_path: Path
) -> None:
    """Bytes that are changed, lost or put in at random: never a crash."""
    text = Baseline.of(campaign).text().encode()
    draw = random.Random(1)
    refused = 0
    for _ in range(300):
        damaged = bytearray(text)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(damaged))
            damaged[place : place + draw.randint(0, 3)] = draw.choice(
                [b"", b"[", b"{", b'"', b"null", b"-1", b"1e999", b"\xff", b"0", b"9" * 50]
            )
        (tmp_path / "known.json").write_bytes(damaged)
        try:
            Baseline.read(tmp_path / "known.json")
        except InputFormatError:
            refused += 1
    assert refused > 200


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no such file"):
        Baseline.read(tmp_path / "known.json")
    with pytest.raises(InputFileError):
        Baseline.read(tmp_path)  # a folder, but no campaign


def test_a_baseline_of_other_tasks_is_refused(campaign: Campaign) -> None:
    own = Baseline.of(campaign)
    ((name, digest),) = own.tasks.items()
    assert own.check_tasks("planning", {name: digest}) == []
    assert own.check_tasks("planning", {"renamed": digest}) == []
    assert own.check_tasks("planning", {name: digest, "more": "1"}) == [
        "the baseline does not know the task(s) more"
    ]
    with pytest.raises(InputFormatError, match=f"the baseline is about another task '{name}'"):
        own.check_tasks("planning", {name: "1"})
    with pytest.raises(InputFormatError, match="about none of the tasks that are tested"):
        own.check_tasks("planning", {"more": "1"})
    with pytest.raises(InputFormatError, match="about planning tasks and the campaign about model"):
        own.check_tasks("model", {name: digest})


def test_states_have_the_same_digest_everywhere() -> None:
    task = small_task("gripper-4")
    values = task.initial_state.values
    assert state_digest("a", values) == state_digest("a", tuple(int(v) for v in values))
    assert state_digest("a", values) != state_digest("b", values)
    assert state_digest("task", (0, 1, 2)) == "e9b31e1e4962"
