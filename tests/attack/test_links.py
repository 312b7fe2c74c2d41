"""A folder holds links to files of the user. Nothing outside of the folder is read or written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import InputFileError
from misstep.files import open_inside, write_inside
from misstep.training.resumable import ResumableFolder
from support.commands import misstep
from support.tasks import small_task

PRECIOUS = b"what the user cares for\n"
NEW = ("run.lock", "config.toml.new", "run.db.new", "run.db.new-journal", "run.db.new-wal")
OLD = ("run.db", "run.db-wal", "run.db-shm", "run.db-journal", "config.toml", "run.lock")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    file = tmp_path / "precious"
    file.write_bytes(PRECIOUS)
    return file


def link(kind: str, target: Path, place: Path) -> None:
    place.unlink(missing_ok=True)
    if kind == "hard":
        os.link(target, place)
    else:
        place.symlink_to(target)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("name", NEW)
def test_a_new_campaign_beside_links(tmp_path: Path, precious: Path, kind: str, name: str) -> None:
    """A folder that looks like a creation that was killed."""
    folder = tmp_path / "new"
    folder.mkdir()
    link(kind, precious, folder / name)
    if name == "run.lock":  # which cannot be taken away: somebody may hold it
        with pytest.raises(InputFileError, match="link"):
            run_campaign(small_task("gripper-4"), "first", out=folder, pool=2)
    else:
        run_campaign(small_task("gripper-4"), "first", out=folder, pool=2).close()
    assert precious.read_bytes() == PRECIOUS


def test_links_that_lead_nowhere_make_no_files(tmp_path: Path) -> None:
    for name in NEW:
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).symlink_to(tmp_path / "made")
        with contextlib.suppress(InputFileError):
            run_campaign(small_task("gripper-4"), "first", out=folder, pool=2).close()
        assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("name", OLD)
def test_a_campaign_with_links(folder: Path, precious: Path, kind: str, name: str) -> None:
    """Its own content behind a link, which a writer would change, or any file of the user."""
    outside = precious
    if (folder / name).exists():
        outside = Path(shutil.copy(folder / name, precious.with_name("copy")))
    before = outside.read_bytes()
    link(kind, outside, folder / name)
    for command in (
        ("records", folder),
        ("replay", folder, "--rerun"),
        ("judge", folder, "--oracle", "undo"),
        ("test", "--resume", "--pool", "14", "--out", folder),
    ):
        done = misstep(*command)
        writes = command[0] in ("judge", "test")
        if writes or kind == "symbolic":
            assert done.returncode == 30, (command, done.stderr)
            assert "link" in done.stderr
    assert outside.read_bytes() == before
    assert precious.read_bytes() == PRECIOUS


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    with open_campaign(tmp_path / "link") as campaign:
        campaign.resume(pool=14)
        assert len(campaign.records) == 14


def test_the_checker_follows_no_links(folder: Path, tmp_path: Path) -> None:
    from misstep.checking.campaign import check_campaign

    (folder / "run.db").rename(tmp_path / "elsewhere.db")
    (folder / "run.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(InputFileError, match="symbolic link"):
        check_campaign(folder)


@pytest.mark.parametrize("reader", ["the store", "the checker"])
def test_a_link_that_comes_after_the_check(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    """Another process puts a link to another campaign of the user in the place of the database."""
    from misstep.checking.campaign import check_campaign

    other, really = tmp_path / "other.db", sqlite3.connect

    def faster(place: str, **options: Any) -> Any:
        if "run.db" in place and not other.exists():
            (folder / "run.db").rename(other)
            (folder / "run.db").symlink_to(other)
        return really(place, **options)

    monkeypatch.setattr(sqlite3, "connect", faster)
    read: Callable[[Path], object] = open_campaign if reader == "the store" else check_campaign
    with pytest.raises(InputFileError, match="symbolic link"):
        read(folder)
    assert other.exists()


# -- trainings ------------------------------------------------------------------------------------


class Training(ResumableFolder):
    FORMAT = "test"
    PARTS = ("models",)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("name", ["settings.json", "log.jsonl", "models/0000.npz", "run.lock"])
def test_a_training_with_links(tmp_path: Path, precious: Path, kind: str, name: str) -> None:
    folder = tmp_path / "training"
    Training.create(folder, {}).close()
    outside = precious
    if (folder / name).exists():
        outside = Path(shutil.copy(folder / name, precious.with_name("copy")))
    link(kind, outside, folder / name)
    with pytest.raises(InputFileError, match="link"):
        Training.open_folder(folder)


def test_a_training_in_a_linked_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "training", tmp_path / "outside"
    Training.create(folder, {}).close()
    (folder / "models").rename(outside)
    (folder / "models").symlink_to(outside)
    with pytest.raises(InputFileError, match="symbolic link"):
        Training.open_folder(folder)


def test_the_settings_of_a_training_are_not_read_through_a_link(tmp_path: Path) -> None:
    folder, secret = tmp_path / "training", tmp_path / "secret"
    secret.write_text("what nobody else should see")
    folder.mkdir()
    (folder / "settings.json").symlink_to(secret)
    with pytest.raises(InputFileError, match="symbolic link"):
        Training.open_folder(folder)


def test_links_that_come_while_a_training_runs(tmp_path: Path, precious: Path) -> None:
    with Training.create(tmp_path / "training", {}) as folder:
        for name in ("settings.json", "models/0000.npz"):
            link("symbolic", precious, folder.path / name)
        folder.write_settings()
        folder.write_arrays("models/0000.npz", {})
    assert precious.read_bytes() == PRECIOUS


# -- the two functions that all of this stands on -------------------------------------------------


def test_open_inside(tmp_path: Path, precious: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for kind in ("symbolic", "hard"):
        link(kind, precious, tmp_path / "link")
        with pytest.raises(InputFileError, match="link"):
            open_inside(tmp_path / "link", os.O_RDWR | os.O_CREAT)
        write_inside(tmp_path / "link", b"new")  # takes its place
        assert (tmp_path / "link").read_bytes() == b"new"
        assert precious.read_bytes() == PRECIOUS
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((InputFileError, OSError)):
        open_inside(tmp_path / "pipe", flags)  # and does not wait for a reader


@pytest.mark.parametrize("name", ["run.db", "run.db-wal", "run.db-shm", "run.db-journal"])
def test_the_checker_waits_for_no_pipe(folder: Path, name: str) -> None:
    from misstep.checking.campaign import check_campaign

    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(InputFileError, match="not a regular file"):
        check_campaign(folder)


# -- files to write to ------------------------------------------------------------------------------


def test_a_plan_is_not_written_through_a_link(tmp_path: Path, precious: Path) -> None:
    """A stranger may know under which name a file is begun."""
    (tmp_path / "task.sas").write_bytes(small_task("gripper-4").sas)
    (tmp_path / "plan.unfinished").symlink_to(precious)
    done = misstep("plan", tmp_path / "task.sas", "-o", tmp_path / "plan")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan").read_text().startswith("(")
    assert precious.read_bytes() == PRECIOUS


def test_a_pipe_is_neither_replaced_nor_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "task.sas").write_bytes(small_task("gripper-4").sas)
    pipe, model = tmp_path / "pipe", tmp_path / "model.jani"
    os.mkfifo(tmp_path / "domain.pddl")
    for place in (pipe, model):
        os.mkfifo(place)
    for command in (
        ("plan", tmp_path / "task.sas", "-o", pipe),
        ("report", folder, "-o", pipe),
        ("generate", "gripper", "-o", tmp_path),
        ("generate", "one-way-line", "-o", model),
    ):
        done = misstep(*command)
        assert done.returncode == 30, (command, done.stderr)
        assert "not a regular file" in done.stderr
    assert pipe.is_fifo()
    assert model.is_fifo()


def test_the_checker_reads_no_pipe_as_a_plan(tmp_path: Path) -> None:
    from misstep.checking.plan import read_plan

    os.mkfifo(tmp_path / "plan")
    with pytest.raises(InputFileError, match="not a regular file"):
        read_plan(tmp_path / "plan")
