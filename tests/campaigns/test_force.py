"""`--force` replaces a campaign, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import misstep
from misstep.errors import InputFileError, MisstepError, UsageError
from misstep.tasks.domains import generate
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task
from support.commands import misstep as command


@pytest.fixture
def task() -> Task:
    return load_planning_task(generate("gripper", balls=2))


@pytest.fixture
def folder(tmp_path: Path, task: Task) -> Path:
    found = tmp_path / "found"
    misstep.test(task, "first", pool=3, out=found).close()
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_campaign_is_replaced(folder: Path, task: Task) -> None:
    with pytest.raises(InputFileError, match="there is a campaign") as refused:
        misstep.test(task, "optimal", pool=4, out=folder)
    assert "--force" in str(refused.value)
    assert f"--resume --out {folder}" in str(refused.value)
    with misstep.test(task, "optimal", pool=4, out=folder, force=True) as found:
        assert found.settings.policy == "optimal"
        assert len(found.records) == 4
        assert found.replay().ok
    fresh = folder.with_name("fresh")
    with misstep.test(task, "optimal", pool=4, out=fresh, force=True) as same:  # nothing is there
        assert [own.id for own in same.records] == [own.id for own in found.records]


def test_the_log_of_the_old_campaign_is_not_read_into_the_new_one(folder: Path, task: Task) -> None:
    # A writer that was killed leaves a log, which SQLite would apply to any database of that name.
    with closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE stray (content)")
        log = (folder / "run.db-wal").read_bytes()
    assert log
    (folder / "run.db-wal").write_bytes(log)
    with misstep.test(task, "first", pool=2, out=folder, force=True) as found:
        assert found.replay().ok


def _other_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def _folder_inside(folder: Path) -> None:
    (folder / "config.toml").unlink()
    (folder / "config.toml").mkdir()


def _other_database(folder: Path) -> None:
    (folder / "run.db").unlink()
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        connection.execute("CREATE TABLE mine (content)")


def _no_database(folder: Path) -> None:
    (folder / "run.db").write_text("mine")


def _linked_database(folder: Path) -> None:
    (folder / "run.db").rename(folder.with_name("elsewhere.db"))
    (folder / "run.db").symlink_to(folder.with_name("elsewhere.db"))


def _linked_lock(folder: Path) -> None:
    target = folder.with_name("mine.txt")
    target.write_text("mine")
    (folder / "run.lock").unlink()
    (folder / "run.lock").symlink_to(target)


def _fifo(folder: Path) -> None:
    (folder / "run.db").unlink()
    os.mkfifo(folder / "run.db")


@pytest.mark.parametrize(
    "change",
    [
        *(_other_file, _folder_inside, _other_database, _no_database, _linked_database),
        *(_linked_lock, _fifo),
    ],
)
def test_nothing_else_is_replaced(folder: Path, task: Task, change: Callable[[Path], None]) -> None:
    change(folder)
    before = content(folder) if change is not _fifo else {}
    beside = content(folder.parent)
    with pytest.raises(InputFileError):
        misstep.test(task, "first", pool=3, out=folder, force=True)
    assert before in ({}, content(folder))
    assert content(folder.parent) == beside


def test_a_folder_that_is_a_link_is_not_followed(folder: Path, task: Task) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder)
    before = content(folder)
    with pytest.raises(InputFileError, match="symbolic link"):
        misstep.test(task, "first", pool=3, out=link, force=True)
    assert content(folder) == before


def test_a_campaign_in_use_is_not_replaced(folder: Path, task: Task) -> None:
    from misstep.campaigns.store import open_store

    with open_store(folder), pytest.raises(InputFileError, match="in use"):
        misstep.test(task, "first", pool=3, out=folder, force=True)


def test_what_cannot_begin_replaces_nothing(folder: Path, task: Task) -> None:
    before = content(folder)
    for policy, options in (("frist", {}), ("first", {"oracle": "nix"}), ("first", {"pool": -1})):
        with pytest.raises(MisstepError):
            misstep.test(task, policy, out=folder, force=True, **options)
    with pytest.raises(UsageError, match="lends its states"):
        misstep.test(None, "first", pool_from=folder, out=folder, force=True)
    with pytest.raises(UsageError, match="both resume and force"):
        misstep.test(task, "first", out=folder, force=True, resume=True)
    assert content(folder) == before


def test_the_option(tmp_path: Path) -> None:
    target = tmp_path / "task"
    command("generate", "gripper", "--balls", "2", "-o", target)
    words = ("test", target, "--policy", "optimal", "--pool", "2", "--out", tmp_path / "found")
    assert command(*words).returncode == 0
    refused = command(*words)
    assert refused.returncode == 30
    assert "--force" in refused.stderr
    assert command(*words, "--force").returncode == 0
    both = command("test", "--resume", "--force", "--out", tmp_path / "found")
    assert both.returncode == 2
    assert "both --resume and --force" in both.stderr
