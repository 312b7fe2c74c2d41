"""Python policies that print, end the process, hang or read the environment, as the command meets them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from misstep.tasks.generate import generate
from support.commands import misstep

SOURCE = """
import atexit, ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
os.environ.get("MINE_SWITCH")
atexit.register(print, "at the end")

def loud(state):
    print("python"); os.write(1, b"descriptor\\n"); libc.puts(b"native")
    sys.__stdout__.write("kept by python\\n"); sys.__stdout__.flush()
    return state.actions[0]

def late(state):
    threading.Timer(0.02, print, ["of a thread\\n"]).start()
    return state.actions[0]

def leaves(state): os._exit(0)
def forks(state):
    os.fork()
    return state.actions[0]
def hangs(state): time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SOURCE)
    assert misstep("generate", "gripper", "--balls", "2", "-o", tmp_path / "task").returncode == 0
    return tmp_path


def command(name: str, *more: str) -> list[str]:
    words = ["test", "task", "--policy", f"python:mine.py:{name}", "--pool", "3", "-o", "out"]
    return [sys.executable, "-m", "misstep", *words, "--json", *more]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_standard_output_has_one_object_whatever_prints(folder: Path, jobs: str) -> None:
    done = subprocess.run(
        command("loud", "--jobs", jobs), cwd=folder, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["tested"] == 3
    for word in ("python", "descriptor", "native", "kept by python", "at the end"):
        assert word in done.stderr.splitlines()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_threads_of_a_policy_do_not_print_to_standard_output(folder: Path, jobs: str) -> None:
    """They may print at any time, also between two questions."""
    done = subprocess.run(
        command("late", "--jobs", jobs), cwd=folder, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["tested"] == 3
    assert "of a thread" in done.stderr.splitlines()


@pytest.mark.parametrize(("name", "code"), [("leaves", 10), ("forks", 1)])
def test_the_end_of_the_process_is_ours(folder: Path, name: str, code: int) -> None:
    done = subprocess.run(command(name), cwd=folder, capture_output=True, text=True)
    assert done.returncode == code
    assert json.loads(done.stdout)["tested"] == 3


def test_a_limit_for_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ended = misstep(
        *("test", "task", "--policy", "python:mine.py:hangs", "--timeout", "0.2"),
        *("--pool", "3", "-o", "out", "--json"),
    )
    done = json.loads(ended.stdout)
    assert done["outcomes"] == {"timeout": 3}
    assert done["policy"] == "python:--timeout=0.2 mine.py:hangs"
    for wrong, words in (
        (("--policy", "first", "--timeout", "1"), "--timeout with the policy first"),
        (("--policy", "python:mine.py:hangs", "--timeout", "-1"), "--timeout is -1.0"),
    ):
        refused = misstep("test", "task", *wrong, "-o", "other")
        assert refused.returncode == 2
        assert words in refused.stderr


def test_the_environment_is_kept_with_the_campaign(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINE_SWITCH", "on")
    misstep("test", "task", "--policy", "python:mine.py:loud", "--pool", "2", "-o", "out")
    database = folder / "out" / "run.db"
    rows = sqlite3.connect(database).execute("SELECT value FROM meta WHERE key = 'environment'")
    assert json.loads(rows.fetchone()[0]) == {"MINE_SWITCH": "on"}


CLOSING = """
import os, sys

def act(state):
    try:
        os.closerange(1, 3)
        sys.stderr.write("kept by python")
    except OSError:
        pass
    return state.operators[0]
"""


def test_a_policy_that_closes_its_streams_does_not_choose_the_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "closing.py").write_text(CLOSING)
    generate("gripper", balls=1).write(tmp_path / "task")
    words = ["test", "task", "--policy", "python:closing.py:act", "--pool", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "misstep", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["bugs"]["total"] == 1


SABOTAGE = {
    "no errors": "sys.stderr = None",
    "no output": "sys.stdout = sys.__stdout__ = sys.__stderr__ = None",
    "closed": "sys.stderr.close()",
    "both closed": "sys.stdout.close(); sys.stderr.close(); sys.__stdout__.close(); sys.__stderr__.close()",
    "wrapped and dropped": "sys.stderr = io.TextIOWrapper(sys.stderr.buffer); sys.stderr = None; gc.collect()",
    "detached": "sys.stderr = io.TextIOWrapper(sys.stderr.detach()); sys.stderr = None; gc.collect()",
    "elsewhere": "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)",
}


@pytest.mark.parametrize("what", SABOTAGE)
@pytest.mark.parametrize("when", ["loaded", "asked"])
def test_the_words_of_a_command_come_out_whatever_a_policy_does_to_the_streams(
    tmp_path: Path, what: str, when: str
) -> None:
    once = f"if not done: done.append(1); {SABOTAGE[what]}"
    head = ["import gc, io, os, sys, time", "done = []", *([once] if when == "loaded" else [])]
    asked = [once, "if 'STOP' in os.environ: os.kill(os.getppid(), 2); time.sleep(60)"]
    body = [f"    {line}" for line in [*asked, "return state.operators[0]"]]
    (tmp_path / "p.py").write_text("\n".join([*head, "def act(state):", *body]))
    generate("gripper", balls=1).write(tmp_path / "task")
    words = ["test", "task", "--policy", "python:p.py:act", "--pool", "1", "--json", "--force"]

    def told(**more: str) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            [sys.executable, "-m", "misstep", *words],
            cwd=tmp_path,
            env={**os.environ, **more},
            capture_output=True,
            text=True,
        )
        return done.returncode, json.loads(done.stdout), done.stderr

    code, result, errors = told()
    assert (code, result["bugs"]["total"], errors) == (1, 1, "")
    code, result, errors = told(STOP="1")
    assert (code, result["exit_code"]) == (23, 23)
    assert errors.startswith("misstep: misstep-campaign: stopped by the user; ")
    assert len(errors.splitlines()) == 1
