"""Ctrl-C in `misstep retest`: what is said to be kept is kept, and the command that it names continues the work."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import misstep, result_of

SLOW = """
import time
def policy(state):
    time.sleep(0.02)
    return state.operators[0]
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gripper")
    assert misstep("generate", "gripper", "--balls", "3", "-o", place / "task").returncode == 0
    (place / "slow.py").write_text(SLOW)
    command = ("test", place / "task", "--policy", "python:slow.py:policy", "--pool", "40")
    assert misstep(*command, "-o", "found", cwd=place).returncode == 1
    return place


def interrupted(place: Path, *arguments: str) -> str:
    process = subprocess.Popen(
        [sys.executable, "-m", "misstep", "retest", "found", *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stderr is not None
    begun = process.stderr.readline()  # the first line of progress
    assert begun.startswith("[0:01]"), begun
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=30)
    assert (process.returncode, printed) == (23, "")
    return [line for line in errors.splitlines() if not line.startswith("[")][-1]


def test_with_a_folder_the_command_that_goes_on_names_the_policy_once(found: Path) -> None:
    said = interrupted(found, "--policy", "python:slow.py:policy", "-o", "again")
    assert "what is done is kept" in said
    command = said.partition("; misstep ")[2].removesuffix(" continues")
    assert command == "retest found --policy python:slow.py:policy --out again --resume"
    ran = misstep(*shlex.split(command), "--time", "1", cwd=found)
    assert ran.returncode in (0, 1, 20), ran.stderr


def test_without_a_folder_nothing_is_said_to_be_kept(found: Path) -> None:
    said = interrupted(found, "--policy", "python:slow.py:policy")
    assert "nothing is kept without --out" in said
    assert said.count("--policy") == 1


def test_folders_that_are_taken_are_refused_in_words_of_this_command(found: Path) -> None:
    ran = misstep("retest", "found", "--policy", "first", "-o", "found", cwd=found)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "--out names the folder of the campaign that is tested again" in ran.stderr
    result_of("retest", found / "found", "--policy", "first", "-o", found / "taken", code=1)
    ran = misstep("retest", "found", "--policy", "first", "-o", "taken", cwd=found)
    assert (ran.returncode, ran.stderr.count("\n")) == (30, 1)
    assert "--resume continues a retest" in ran.stderr
    assert "misstep test" not in ran.stderr
