"""The system refuses locks, open files, long names or shared memory: each has its own error message."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import multiprocessing.synchronize
import os
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from misstep.campaigns.testing import test as run_campaign
from misstep.errors import InputFileError, InputFormatError, ToolError
from misstep.policies.load import load_policy
from support.commands import misstep, run
from support.tasks import small_task

LONG = "x" * 300


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.sas"
    path.write_bytes(small_task("gripper-4").sas)
    return path


def test_no_locks(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    done = misstep("test", task, "--policy", "first", "--pool", "3", "--out", tmp_path / "out")
    assert done.returncode == 30
    assert "this file system supports no locks" in done.stderr
    assert "choose a folder on a local disk" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("test", "{task}", "--policy", "first", "--pool", "3", "--out", LONG),
        ("test", LONG, "--policy", "first", "--out", "out"),
        ("test", "{task}", "--policy", f"asnet:{LONG}", "--out", "out"),
        ("test", "{task}", "--policy", f"plan:{LONG}", "--out", "out"),
        ("test", "{task}", "--policy", "first", "--config", LONG, "--out", "out"),
        ("test", "--resume", "--out", LONG),
        ("records", LONG),
        ("replay", LONG),
        ("explain", LONG, "task:1"),
        ("judge", LONG, "--oracle", "exact"),
        ("run", LONG, "--policy", "first"),
    ],
)
def test_long_names(task: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = misstep(*(word.format(task=task) for word in command), cwd=tmp_path)
    assert done.returncode == 30, done.stderr
    assert "the name is too long for this file system" in done.stderr


@pytest.mark.parametrize("files", range(3, 21))
def test_few_open_files(task: Path, tmp_path: Path, files: int) -> None:
    """Wherever it happens, it is no bug of ours, and no message about something else."""
    code = (
        "import resource, sys, misstep.campaigns.testing, misstep.campaigns.campaign, "
        "misstep.policies.load, misstep.cli.main, misstep.cli.test, misstep.cli.campaigns\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
        "misstep.cli.main.main(sys.argv[1:])"
    )
    command = ["test", str(task), "--policy", "first", "--pool", "3", "--jobs", "4", "--oracle"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "ehc", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    if done.returncode in (0, 1) and files > 16:
        return
    assert done.returncode in (30, 33), done.stderr
    assert "too many open files" in done.stderr


def test_no_file_for_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task("gripper-4")

    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(ToolError, match="this process has too many open files") as caught:
        load_policy("exec:cat", task)
    assert caught.value.hint is None


def test_no_file_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socketpair", refuse)
    with pytest.raises(ToolError, match=r"cannot start another process: .* too many open files"):
        run_campaign(small_task("gripper-4"), "first", pool=4, oracle="ehc", jobs=2)


def test_shared_memory_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /dev/shm is read-only no semaphore can be made; processes talk by pipes alone."""

    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("_multiprocessing.SemLock", refuse)
    with pytest.raises(OSError, match="Read-only"):
        multiprocessing.Lock()
    task = small_task("gripper-4")
    with run_campaign(task, "first", pool=4, oracle="ehc", jobs=2) as campaign:
        assert campaign.summary.tested == 4
    with run_campaign(task, lambda state: state.operators[0], pool=4, oracle="ehc", jobs=2) as own:
        assert own.summary.tested == 4


def test_what_cannot_be_read_is_no_bad_usage(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser of the command line would refuse it with exit code 2. Tests may run as root, who can read all."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    for command in (
        ("records", folder),
        ("compare", folder, folder),
        ("report", folder, "-o", tmp_path / "page.html"),
        ("export", "csv", folder),
        ("generate", "gripper", "-o", tmp_path),
    ):
        done = misstep(*command)
        assert done.returncode == 0, (command, done.stderr)


@pytest.mark.parametrize("checker", ["ours", "the independent one"])
def test_no_copy_that_fills_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch, checker: str
) -> None:
    """A folder without write permission is copied, and a database may be a file of many gigabytes with holes."""
    from misstep.campaigns import database
    from misstep.checking import campaign

    (folder / "run.db-wal").write_bytes(b"x")
    room = shutil.disk_usage(folder)._replace(free=2 * (folder / "run.db").stat().st_size)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    if checker == "ours":
        with pytest.raises(InputFileError, match="half of the room"):
            database._connect_copy(folder / "run.db")
    else:
        monkeypatch.setattr(campaign, "_shared", lambda _: None)
        with pytest.raises(InputFormatError, match="half of the disk"):
            campaign.check_campaign(folder)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(task: Path, tmp_path: Path, closed: str) -> None:
    """What is printed must not go to a file that gets the number of the stream."""
    (tmp_path / "p.py").write_text(
        "import os\ndef act(state):\n    for place in (1, 2):\n        os.write(place, b'hello')\n"
        "    return state.operators[0]\n"
    )
    command = [sys.executable, "-m", "misstep", "test", task, "--policy", "python:p.py:act"]
    words = shlex.join(map(str, [*command, "--pool", "2", "-o", "found"]))
    done = subprocess.run(["bash", "-c", f"{words} {closed}"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 1, done.stderr
    assert b"internal error" not in done.stderr
    assert b"hello" not in (tmp_path / "found" / "run.lock").read_bytes()
    assert run("replay", tmp_path / "found") == 0


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_current_folder_that_was_removed(task: Path, tmp_path: Path, more: list[str]) -> None:
    """A command that needs it says so; one that is given whole paths works."""

    def run_there(policy: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "misstep", "test", task, "--policy", policy, *more]
        words = shlex.join(map(str, [*command, "--pool", "2", "--out", tmp_path / "out"]))
        leave = "mkdir -p gone; cd gone; rmdir ../gone"
        return subprocess.run(
            ["bash", "-c", f"{leave}; {words}"], cwd=tmp_path, capture_output=True, text=True
        )

    done = run_there("python:module:act")
    assert done.returncode == 30
    what = "the current folder does not exist any more"
    assert done.stderr == f"misstep: {what}; change to another folder\n"
    assert json.loads(done.stdout)["what"] == what if more else done.stdout == ""
    assert run_there("first").returncode == 1


def test_a_folder_whose_name_is_not_text(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/f\xfcr"))
    folder.mkdir()
    shutil.copy(task, folder)
    (folder / "p.py").write_text("def act(state):\n    return state.operators[0]\n")
    monkeypatch.chdir(folder)
    tested = ("test", "task.sas", "--policy", "python:p.py:act", "--pool", "2", "-o", "found")
    assert run(*tested) == 1
    assert run("replay", "found", "--rerun", "--trust-policy") == 0
