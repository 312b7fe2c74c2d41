"""A selection that keeps its records: the same ranking, campaigns that can be read, and work that goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.errors import FlakyPolicyError, InputFileError, InputFormatError, UsageError
from misstep.tasks.domains import generate
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task
from misstep.training.api import select
from misstep.training.kept import folders
from support.commands import misstep as command
from support.commands import result_of
from support.unsteady import PLANNING

POLICIES = ["heuristic:add", "first", "heuristic:ff"]


@pytest.fixture
def tasks() -> list[Task]:
    made = []
    for balls in (2, 3):
        task = load_planning_task(generate("gripper", balls=balls))
        task.name = f"balls-{balls}"
        made.append(task)
    return made


def told(selection: Any) -> list[dict[str, Any]]:
    """The ranking, without what only one of both ways to test knows."""
    shown: list[dict[str, Any]] = selection.as_dict()["ranking"]
    for candidate in shown:
        candidate.pop("campaign")
        for result in candidate["tasks"]:
            result.pop("steps")
    return shown


@pytest.mark.parametrize("oracle", ["bmo(100)", "exact"])
def test_the_ranking_is_that_of_the_test_that_keeps_nothing(
    tasks: list[Task], tmp_path: Path, oracle: str
) -> None:
    # More states than a chunk of a campaign has by default.
    plain = select(tasks, POLICIES, pool=40, oracle=oracle)
    kept = select(tasks, POLICIES, pool=40, oracle=oracle, out=tmp_path)
    assert told(kept) == told(plain)
    assert any(candidate.bugs.value for candidate in kept.candidates)


def test_every_policy_has_a_campaign_on_the_same_states(tasks: list[Task], tmp_path: Path) -> None:
    found = select(tasks, POLICIES, pool=8, out=tmp_path)
    states = []
    for candidate in found.candidates:
        assert candidate.campaign is not None
        with misstep.open_campaign(candidate.campaign) as campaign:
            assert campaign.finished
            assert campaign.settings.policy == candidate.policy
            assert campaign.replay().ok
            states.append([(record.id, record.state) for record in campaign.records])
            bugs = sum(result.bugs for result in candidate.results)
            assert len(campaign.bugs) == bugs
    assert states[0] == states[1] == states[2]


def test_what_is_there_is_not_tested_again(tasks: list[Task], tmp_path: Path) -> None:
    first = select(tasks, POLICIES[:2], pool=8, out=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("*/config.toml")}
    asked: list[str] = []
    again = select(
        tasks, POLICIES, pool=8, out=tmp_path, progress=lambda policy, *_: asked.append(policy)
    )
    assert {path: path.read_bytes() for path in before} == before
    assert "heuristic:ff" in asked
    known = {candidate.policy: candidate.results for candidate in first.candidates}
    for candidate in again.candidates:
        assert known.get(candidate.policy, candidate.results) == candidate.results


def test_another_selection_does_not_write_into_the_folder(
    tasks: list[Task], tmp_path: Path
) -> None:
    select(tasks, POLICIES, pool=8, out=tmp_path)
    for changed, words in (({"pool": 9}, "its pool is 8, not 9"), ({"seed": 1}, "its seed is 0")):
        options: dict[str, Any] = {"pool": 8, **changed}
        with pytest.raises(UsageError, match=words) as refused:
            select(tasks, POLICIES, **options, out=tmp_path)
        assert "--out" in (refused.value.hint or "")
    with pytest.raises(UsageError, match="budget is 5"):
        select(tasks, POLICIES, pool=8, budget=5, out=tmp_path)


def test_folders_are_named_after_policies(tmp_path: Path) -> None:
    names = ["heuristic:ff", "asnet:a/best.safetensors", "asnet:a-best.safetensors", "::", "../.."]
    assert [str(own.relative_to(tmp_path)) for own in folders(tmp_path, names)] == [
        *("heuristic-ff", "asnet-a-best.safetensors", "asnet-a-best.safetensors-2"),
        *("policy", "policy-2"),
    ]


def test_the_command_says_where_the_records_are(tmp_path: Path) -> None:
    command("generate", "gripper", "--balls", "1", "-o", tmp_path / "task")
    words = ("select", tmp_path / "task", "--policies", "optimal", "first", "--pool", "4")
    kept = tmp_path / "kept"
    done = command(*words, "--out", kept)
    assert done.returncode == 0, done.stderr
    for name in ("optimal", "first"):
        assert str(kept / name) in done.stdout.split()
        assert command("replay", kept / name).returncode == 0
    ranking = result_of(*words, "-o", kept)["ranking"]
    assert [own["campaign"] for own in ranking] == [str(kept / "optimal"), str(kept / "first")]
    assert command("compare", kept / "optimal", kept / "first").returncode == 0


def test_records_that_were_changed_are_not_ranked(tasks: list[Task], tmp_path: Path) -> None:
    first = select(tasks, POLICIES, pool=8, out=tmp_path)
    forged = next(own.campaign for own in first.candidates if own.bugs.value)
    assert forged is not None
    with closing(sqlite3.connect(Path(forged) / "run.db")) as database:
        database.execute("UPDATE verdicts SET verdict = 'OPTIMAL', kind = NULL, low = 0, high = 0")
        database.commit()
    with pytest.raises(InputFormatError, match="rows of verdicts were changed") as refused:
        select(tasks, POLICIES, pool=8, out=tmp_path)
    assert refused.value.where == forged


def test_links_in_the_folder_are_not_followed(tasks: list[Task], tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    (out / "first").symlink_to(elsewhere)
    with pytest.raises(InputFileError, match="symbolic link"):
        select(tasks, ["first", "heuristic:ff"], pool=8, out=out)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["Declared", "Random"])
def test_a_policy_that_is_no_function_is_not_ranked(
    name: str, tasks: list[Task], tmp_path: Path
) -> None:
    """Its states have no verdict; to count them as no bugs made it look better than the others."""
    (tmp_path / "unsteady.py").write_text(PLANNING)
    policies = [f"python:{tmp_path / 'unsteady.py'}:{name}", "first"]
    with pytest.raises(FlakyPolicyError, match="cannot be ranked"):
        select(tasks, policies, pool=10, out=tmp_path / "kept")
    why = "not deterministic" if name == "Declared" else "answers differently"
    with pytest.raises(FlakyPolicyError, match=why):
        select(tasks, policies, pool=10)
