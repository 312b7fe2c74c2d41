"""Control sequences of the terminal in names and messages are escaped on every output."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from io import StringIO
from pathlib import Path

import pytest

from misstep.campaigns.rows import MOST_LETTERS, clean
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.campaign import check_campaign
from misstep.cli.arguments import user_trusts
from misstep.cli.plain import to_json
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.escaping import escaped
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from support.attacks import change
from support.commands import misstep
from support.jani import TINY_LINE, write
from support.tasks import small_task

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\x08"
CONTROLS = {letter for letter in EVIL if not letter.isprintable()} | {"\r"}


def is_plain(text: str) -> bool:
    return not CONTROLS & set(text)


def test_names_of_a_campaign(folder: Path) -> None:
    change(
        folder,
        f"UPDATE tasks SET name = '{EVIL}'",
        f"UPDATE verdicts SET source = '{EVIL}'",
        f"UPDATE runs SET message = '{EVIL}'",
        f"UPDATE events SET text = '{EVIL}', kind = 'remark'",
    )
    for command in (
        ("records", folder),
        ("records", folder, "--json"),
        ("explain", folder),
        ("explain", folder, f"{EVIL}:1"),
        ("explain", folder, f"{EVIL}:0"),
        ("explain", folder, "1000"),
        ("replay", folder),
        ("test", "--resume", "--pool", "14", "--out", folder),
        ("records", folder, "--metrics"),
    ):
        done = misstep(*command)
        assert done.returncode != 39, done.stderr
        assert is_plain(done.stdout), command
        assert is_plain(done.stderr), command
        if "--json" in command:
            assert all(EVIL in json.loads(line)["task"] for line in done.stdout.splitlines())


def test_names_in_files(tmp_path: Path, folder: Path) -> None:
    strange = tmp_path / f"a{EVIL}b.pddl"
    strange.write_text(f"(define {EVIL}")
    for command in (
        ("run", strange, "--policy", "first"),
        ("run", tmp_path / "no\x1b[31m", "--policy", "first"),
        ("replay", folder, "--policy", f"python:{EVIL}:x"),
        (f"verb{EVIL}",),
    ):
        done = misstep(*command)
        assert done.returncode not in (0, 39)
        assert is_plain(done.stderr)
        assert "\\x1b" in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢 \t\n", "plain ä 漢 \t\n"),
        ("\x1b[0m", "\\x1b[0m"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
        ("\r", "\\x0d"),
    ],
)
def test_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert json.loads(to_json({"a": text + "\x7f"})) == {"a": text + "\x7f"}
    assert is_plain(to_json({"a": text + "\x7f"}))


def test_messages_are_cut(tmp_path: Path) -> None:
    long = "x" * 100_000
    done = misstep("replay", tmp_path / long)
    assert done.returncode == 30
    assert len(done.stderr) < 2500
    assert len(clean(long) or "") < MOST_LETTERS + 100
    assert len(str(MisstepError(long))) > MOST_LETTERS  # who calls from Python gets all of it


def test_no_name_makes_a_line_of_its_own(folder: Path) -> None:
    """A wrong record whose name goes on with a line VALID would read as one that holds."""
    forged = "p\nVALID\nx"
    change(folder, "UPDATE verdicts SET kind = 'costly'")
    change(folder, "UPDATE tasks SET name = ?", parameters=(forged,))
    done = misstep("replay", folder)
    assert done.returncode in (31, 35)
    assert "VALID" not in (done.stdout + done.stderr).splitlines()
    shown = str(check_campaign(folder)).splitlines()
    assert "VALID" not in shown
    assert shown[-1].startswith("INVALID")
    for command in ("records", "explain"):
        done = misstep(command, folder)
        assert done.returncode == 31
        assert "a task without a name on one line" in done.stderr


def test_no_policy_or_source_makes_a_line_of_its_own(folder: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    for table, name in (("policy", "spec"), ("verdicts", "source")):
        change(folder, f"UPDATE {table} SET {name} = {name} || char(10) || 'VALID'")
    for command in (("explain", folder, "0"), ("compare", folder, before), ("records", folder)):
        done = misstep(*command)
        assert done.returncode in (0, 31), done.stderr
        assert "VALID" not in (done.stdout + done.stderr).splitlines(), command


def test_new_names_are_on_one_line(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    task = Task(task.sas, name="p\nVALID")
    with pytest.raises(UsageError, match="line break"):
        run_campaign(task, "first", pool=2, out=tmp_path / "c")
    document = copy.deepcopy(TINY_LINE)
    document["variables"][0]["name"] += "\nVALID"
    with pytest.raises(InputFormatError, match="line break"):
        load_task(write(document, folder=tmp_path))


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def asked(spec: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    """The user's answer to the question whether a policy may run, and what the question showed."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", shown)
    trusts = user_trusts(False)
    assert callable(trusts)
    return trusts(spec), shown.getvalue()


def test_no_policy_asks_its_own_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that ends in empty lines and another question would be asked about in its place."""
    question = "The folder names a policy that runs code: python:policy.py:act"
    trusted, shown = asked("exec:evil" + "\n" * 80 + question, "n\n", monkeypatch)
    assert not trusted
    assert shown.count("\n") == 1
    assert "runs code: exec:evil\\x0a\\x0a" in shown
    for filler in (" ", "x", "\u3000"):
        assert asked("exec:evil" + filler * 2000 + question, "y\n", monkeypatch) == (False, "")
    assert asked("exec:mine", "y\n", monkeypatch)[0]
