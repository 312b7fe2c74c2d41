"""Gates as options of `misstep test`: which exit code they end with, and what is refused before any work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.commands import misstep, result_of

BAD = "noisy:0.3:1+heuristic:ff"
CRASHING = """
def act(state):
    if sum(state.values) % 3 == 0:
        raise RuntimeError("no idea")
    return state.operators[0]
"""


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gripper") / "task"
    assert misstep("generate", "gripper", "--balls", "3", "-o", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def known(gripper: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign with 12 states, and a baseline beside it."""
    place = tmp_path_factory.mktemp("known")
    arguments = ("--policy", BAD, "--pool", "12", "-o", place / "found")
    baseline = ("--write-baseline", place / "known.json")
    assert misstep("test", gripper, *arguments, *baseline).returncode == 1
    return place


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--max-bugs", "1000"], 0),
        (["--max-bugs", "0"], 1),
        (["--fail-on", "any"], 1),
        (["--fail-on", "errors"], 0),
        (["--fail-on", "errors", "--fail-on", "any"], 1),
        (["--baseline", "known.json"], 0),
        (["--baseline", "found"], 0),
        (["--baseline", "known.json", "--fail-on", "new,worse"], 0),
        (["--baseline", "known.json", "--fail-on", "any"], 1),
        (["--baseline", "known.json", "--max-bugs", "0"], 1),
        (["--stop-at-first"], 1),
        (["--stop-at-first", "--baseline", "known.json"], 0),
    ],
)
def test_exit_codes(
    options: list[str], code: int, gripper: Path, known: Path, tmp_path: Path
) -> None:
    placed = [known / word if word in ("known.json", "found") else word for word in options]
    arguments = ("--policy", BAD, "--pool", "12", "-o", tmp_path / "o")
    found = result_of("test", gripper, *arguments, *placed, code=code)
    assert found["bugs"]["total"] > 0
    gated = set(options) & {"--max-bugs", "--fail-on", "--baseline"}
    assert ("gate" in found) == bool(gated)
    if gated:
        assert (found["gate"]["passed"], found["gate"]["exit_code"]) == (code == 0, code)


def test_a_policy_that_crashes_never_passes_silently(gripper: Path, tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text(CRASHING)
    tested = ("--policy", f"python:{tmp_path / 'crashing.py'}:act", "--pool", "10")
    gate = ("--max-bugs", "1000")
    found = result_of("test", gripper, *tested, "-o", tmp_path / "a", *gate, code=11)
    assert found["gate"]["passed"]
    assert found["gate"]["errors"] == found["crashes"] > 0
    gate = ("--fail-on", "errors")
    failed = result_of("test", gripper, *tested, "-o", tmp_path / "b", *gate, code=1)
    assert "the policy crashed" in failed["gate"]["reasons"][0]


def test_the_gate_is_told_and_files_are_written(known: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("junit", "sarif", "markdown")}
    reports = [word for name, path in files.items() for word in (f"--{name}", path)]
    tested = ("--policy", "heuristic:ff", "--pool-from", known / "found", "-o", tmp_path / "o")
    files["markdown"].touch()  # as build servers do
    shown = misstep("test", *tested, "--baseline", known / "known.json", *reports)
    assert shown.returncode == 0
    again = misstep("test", "--resume", "-o", tmp_path / "o", "--fail-on", "errors", *reports)
    assert again.returncode == 0, again.stderr  # older reports are replaced
    shown = misstep(
        *("test", "--resume", "-o", tmp_path / "o", "--baseline", known / "known.json", *reports)
    )
    assert "\ngate     passed\nagainst  0 new, " in shown.stdout
    assert f"the baseline is of the policy {BAD}, but heuristic:ff is tested" in shown.stdout
    assert files["junit"].read_text().startswith("<?xml")
    assert '"2.1.0"' in files["sarif"].read_text()
    assert files["markdown"].read_text().startswith("## Misstep: gate passed")


def test_a_finished_campaign_is_checked_again(known: Path) -> None:
    resumed = ("test", "--resume", "-o", known / "found")
    assert misstep(*resumed, "--baseline", known / "known.json").returncode == 0
    assert misstep(*resumed, "--fail-on", "any").returncode == 1


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--fail-on", "nwe"], 2, "--fail-on 'nwe'; expected one of new, any, worse, errors"),
        (["--fail-on", "new"], 2, "--fail-on new without --baseline"),
        (["--fail-on", "any,worse"], 2, "--fail-on worse without --baseline"),
        (["--max-bugs", "-1"], 2, "--max-bugs"),
        (["--stop-at-first", "--max-bugs", "3"], 2, "--stop-at-first with --max-bugs"),
        (["--baseline", "absent.json"], 30, "no such file"),
        (["--baseline", "."], 30, ""),
        (["--baseline", "domain.pddl"], 31, "this is not a baseline"),
        (["--baseline", "broken.json"], 31, "it is not JSON at line 1, column 2"),
        (["--write-baseline", "domain.pddl"], 2, "this file is not a baseline"),
        (["--junit", "domain.pddl"], 30, "the file exists and is not a report in JUnit XML"),
        (["--sarif", "domain.pddl"], 30, "the file exists and is not a report in SARIF"),
        (["--markdown", "domain.pddl"], 30, "the file exists and is not a summary of Misstep"),
        (["--junit", "absent/j.xml"], 30, "--junit cannot be written there"),
        (["--junit", "."], 30, "--junit cannot be written there"),
        (["--junit", "x", "--sarif", "x"], 2, "--junit and --sarif name the same file"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    options: list[str], code: int, text: str, gripper: Path, tmp_path: Path
) -> None:
    arguments = ("--policy", "first", "-o", tmp_path / "o")
    (gripper / "broken.json").write_text("{format")
    before = (gripper / "domain.pddl").read_text()
    done = misstep("test", gripper, *arguments, *options, cwd=gripper)
    assert (gripper / "domain.pddl").read_text() == before
    assert done.returncode == code
    assert text in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("option", ["--write-baseline", "--junit", "--sarif", "--markdown"])
def test_a_folder_without_permission_is_noticed_before_any_work(
    option: str, gripper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # who runs this may write everywhere
    done = misstep("test", gripper, "--policy", "first", "-o", tmp_path / "o", option, "file")
    assert done.returncode == 30
    assert "file: cannot write: no permission to write in this folder" in done.stderr
    assert not (tmp_path / "o").exists()


def test_a_baseline_of_another_task_is_refused_before_any_work(known: Path, tmp_path: Path) -> None:
    assert misstep("generate", "gripper", "--balls", "2", "-o", tmp_path / "t").returncode == 0
    arguments = ("--policy", "first", "-o", tmp_path / "o", "--baseline", known / "known.json")
    done = misstep("test", tmp_path / "t", *arguments)
    assert done.returncode == 31
    assert "the baseline is about another task 'problem'" in done.stderr
    assert not (tmp_path / "o").exists()


def test_gates_have_a_heading_in_the_help() -> None:
    shown = misstep("test", "--help").stdout
    assert "Continuous integration: gates and reports:" in shown
