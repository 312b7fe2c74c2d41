"""What a new user meets who tries the commands on campaigns: messages, hints, and progress."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from misstep.campaigns.store import open_store
from misstep.cli import output
from support.commands import misstep
from support.transcripts import ROOT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task, a campaign with bugs, and one that has only begun."""
    home = tmp_path_factory.mktemp("home")
    assert misstep("generate", "gripper", "--balls", "2", "-o", home / "task").returncode == 0
    command = ("test", home / "task", "--policy", "first", "--pool", "8")
    assert misstep(*command, "-o", home / "found").returncode == 1
    assert misstep(*command, "-o", home / "begun", "--time", "0.000001").returncode == 20
    with open_store(home / "begun", readonly=True) as store:
        assert store.rows("SELECT value FROM meta WHERE key = 'finished'") != [("1",)]
    return home


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (
            "shrink found 0 --legal bogus",
            2,
            "--legal is 'bogus'; expected reachable or mutex or any",
        ),
        ("shrink found 0 --families", 2, "--families has no meaning here; expected no ID"),
        ("explain found 999", 2, "expected the id of a record, such as problem:0"),
        ("explain begun 0", 2, "no record '0': the campaign has not recorded any state"),
        ("report found -o absent/report.html", 30, "expected a file in a folder that exists"),
    ],
)
def test_wrong_input_is_told_in_one_line(place: Path, command: str, code: int, said: str) -> None:
    ran = misstep(*command.split(), cwd=place)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (code, "", 1)
    assert said in ran.stderr


@pytest.mark.parametrize("command", ["explain begun", "shrink begun"])
def test_a_campaign_that_is_not_finished_is_told_as_such(place: Path, command: str) -> None:
    ran = misstep(*command.split(), cwd=place)
    assert ran.returncode == 0
    assert "the campaign is not finished; 0 states are recorded so far" in ran.stderr


def test_a_retest_of_nothing_does_not_pass(place: Path) -> None:
    ran = misstep("retest", "begun", "--policy", "optimal", "--fail-on", "any", cwd=place)
    assert ran.returncode == 2
    assert "there are no records to test again" in ran.stderr


def test_a_baseline_that_is_not_finished_is_told_as_such(place: Path, tmp_path: Path) -> None:
    command = ("test", "task", "--policy", "first", "--pool", "4", "-o", tmp_path / "o")
    ran = misstep(*command, "--baseline", "begun", cwd=place)
    assert "the campaign of --baseline is not finished" in ran.stderr


def test_blamed_decisions_have_a_heading_below_the_families(place: Path) -> None:
    shown = misstep("explain", "found", cwd=place).stdout.splitlines()
    heading = shown.index("The faults behind most bugs:")
    assert shown[0].startswith("1. ")
    assert " bugs, such as problem:" in shown[heading + 1]


def test_notes_come_below_what_they_are_about(place: Path) -> None:
    """Where both streams go to one file, and also where Python does not buffer by lines."""
    ran = subprocess.run(
        [sys.executable, "-m", "misstep", "explain", "found"],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
    )
    lines = ran.stdout.splitlines()
    note = next(k for k, line in enumerate(lines) if line.startswith("--measure asks the policy"))
    assert lines[0].startswith("1. ")
    assert note < lines.index("The faults behind most bugs:")


def test_a_folder_that_is_not_there_names_the_command_that_makes_it(place: Path) -> None:
    ran = misstep("explain", "lost one", cwd=place)
    assert ran.returncode == 30
    assert "misstep test TASK --policy SPEC -o 'lost one' makes one" in ran.stderr


def test_the_first_screen_ends_with_what_to_type(tmp_path: Path) -> None:
    shown = misstep(cwd=tmp_path).stdout
    steps = shown.partition("First steps:\n")[2].split("\n")
    typed = [line.split()[1:] for line in steps if line]
    assert [words[0] for words in typed] == ["generate", "test", "explain"]
    for words in typed:
        assert misstep(*words, cwd=tmp_path).returncode in (0, 1)


@pytest.mark.parametrize("world", ["planning", "model"])
def test_records_have_the_columns_of_their_world(place: Path, tmp_path: Path, world: str) -> None:
    folder = place / "found"
    if world == "model":
        folder = tmp_path / "unsafe"
        misstep("generate", "one-way-line", "--cells", "4", "-o", "line.jani", cwd=tmp_path)
        misstep("test", "line.jani", "--policy", "first", "--runs", "5", "-o", folder, cwd=tmp_path)
    head, *rows = misstep("records", folder).stdout.splitlines()
    assert rows
    assert ("radius" in head, "gap" in head) == (world == "model", world == "planning")


def test_a_shrink_that_the_time_ends_names_the_command_that_goes_on(place: Path) -> None:
    command = "shrink found --families --legal any --time 0.000001"
    ran = misstep(*command.split(), cwd=place)
    assert ran.returncode == 20
    assert "; misstep shrink found --families --legal any continues" in ran.stderr


def test_a_line_appears_although_the_first_step_takes_long() -> None:
    """Nothing is reported here, as in a step that takes seconds."""
    program = (
        "import time\n"
        "from misstep.cli.output import counting, phase_progress, waiting\n"
        "with waiting('reading'): time.sleep(1.5)\n"
        "with counting('one bug:', 'smaller tasks examined') as show: time.sleep(1.5)\n"
        "with phase_progress() as show:\n"
        "    show('opening', 0, 3)\n"
        "    time.sleep(1.5)\n"
    )
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stderr=terminal,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"},
    )
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(master, 4096):
            shown += piece
    os.close(master)
    assert process.wait(timeout=30) == 0
    assert output.TERMINAL_QUIET_SECONDS < 1
    for text in (b"reading", b"0 smaller tasks examined", b"opening"):
        assert text in shown
