"""Disks and folders that refuse to be written: full, without permission, or held by somebody else."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.store import create_store, open_store
from misstep.campaigns.tables import Content
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.seal import Sealed
from misstep.errors import InputFileError
from support.campaigns import CONFIG, NOISY, SHARING, SIZE, add_tested, fill, state_row, told
from support.disk import files_up_to
from support.tasks import small_task

TESTS = Path(__file__).resolve().parents[1]


@contextmanager
def mortal() -> Iterator[Path]:
    """A folder of its own, with the rights of an ordinary user: root may write anywhere."""
    folder = Path(tempfile.mkdtemp(prefix="misstep-rights-", dir="/tmp"))
    folder.chmod(0o755)
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_folder_without_write_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    with mortal() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        empty, finished, killed = folder / "empty", folder / "finished", folder / "killed"
        empty.mkdir()
        with create_store(finished, CONFIG) as store:
            fill(store, 20, 10)
            shutil.copytree(finished, killed)
        for end in ("-wal", "-shm"):
            (finished / f"run.db{end}").unlink(missing_ok=True)
        (killed / "run.db-shm").unlink()
        for place in (empty, finished, killed):
            place.chmod(0o555)
        for place in (finished, killed):
            (place / "run.lock").chmod(0o444)
        with pytest.raises(InputFileError, match="cannot write to this folder"):
            create_store(empty, {})
        with pytest.raises(InputFileError, match="cannot make"):
            create_store(empty / "c", {})
        for place in (finished, killed):
            with pytest.raises(InputFileError, match="cannot write to this folder"):
                open_store(place)
            # Reading works, with all that was committed.
            with open_store(place, readonly=True) as store:
                assert len(Content(store).findings("counter").verdicts()) == 10
        (finished / "run.db").chmod(0)
        with pytest.raises(InputFileError, match="cannot read"):
            open_store(finished, readonly=True)


FULL_DISK = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
from misstep.campaigns.store import Store, create_store, open_store
from misstep.campaigns.tables import Content
from misstep.checking.seal import Sealed
from misstep.errors import InputFileError
from support.campaigns import CONFIG, counter_task, state_row
folder = Path(sys.argv[1])
stored = 0
try:
    with create_store(folder / "c", CONFIG) as store:
        Content(store).add_task(counter_task())
        findings = Content(store).findings("counter")
        while True:
            findings.add_states([state_row(stored)._replace(walk=(1,) * 1500)])
            stored += 1
except InputFileError as error:
    print(error)
(folder / "ballast").unlink()
with open_store(folder / "c") as store:
    findings = Content(store).findings("counter")
    assert findings.state_count() == stored > 5, (findings.state_count(), stored)
    findings.add_states([state_row(stored)])
full = folder / "full"
full.mkdir()
try:
    with open(folder / "ballast", "wb") as file:
        while True:
            file.write(bytes(512))
            file.flush()
except OSError:
    pass
try:
    create_store(full, CONFIG)
except InputFileError as error:
    print(error)
"""


def test_a_full_disk(tmp_path: Path) -> None:
    """A real one: a file system of two megabytes, in a namespace of its own."""
    script = tmp_path / "script.py"
    script.write_text(FULL_DISK)
    mount = tmp_path / "disk"
    mount.mkdir()
    commands = (
        f"mount -t tmpfs -o size=2m none {mount} && "
        f"head -c 500000 /dev/zero > {mount}/ballast && echo mounted && "
        f"{sys.executable} {script} {mount}"
    )
    try:
        done = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", commands], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("no unshare program here")
    if "mounted" not in done.stdout:
        pytest.skip("file systems cannot be mounted here")
    assert done.returncode == 0, done.stderr
    _, first, second = done.stdout.splitlines()
    assert "the disk is full" in first
    assert "all records up to here are safe" in first
    assert "full" in second or "No space left" in second


@pytest.mark.parametrize(
    ("size", "says"), [(0, r"config\.toml: cannot write"), (20_000, "nothing was begun; make room")]
)
def test_no_room_for_a_new_campaign(tmp_path: Path, size: int, says: str) -> None:
    with files_up_to(size), pytest.raises(InputFileError, match=says):
        create_store(tmp_path / "c", {"seed": 1})
    create_store(tmp_path / "c", {"seed": 1}).close()


def test_a_disk_that_fills_up_while_testing(tmp_path: Path) -> None:
    """What is stored is whole, and with more room the campaign goes on."""
    task = small_task("blocksworld-4")
    how: dict[str, Any] = {"oracle": "undo", "config": SHARING, "out": tmp_path / "c"}

    def grow() -> None:
        for size in range(30, 2000, 60):
            run_campaign(task, NOISY, resume=True, pool=size, **how).close()

    with pytest.raises(InputFileError, match=r"records up to here are safe"), files_up_to(150_000):
        grow()
    with open_campaign(tmp_path / "c") as found:
        found.resume()
        size = found.settings.of_planning.fuzzing.max_states
        assert found.replay(rerun=True).ok
        told_now = told(found)
    how["out"] = None
    assert len(told_now) == len(run_campaign(task, NOISY, pool=size, **how))


def test_a_quota_that_cuts_a_page_on_its_way_from_the_log(tmp_path: Path) -> None:
    """A checkpoint writes pages in their order, and the log keeps them until all of them are there."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with create_store(whole, CONFIG) as store:
        fill(store, SIZE, 10)
        shutil.copytree(whole, killed)
    content, begun = (whole / "run.db").read_bytes(), (killed / "run.db").read_bytes()
    page = 4096
    assert len(content) - len(begun) > page
    for size in range(len(begun), len(content), page):
        cut = tmp_path / str(size)
        shutil.copytree(killed, cut)
        (cut / "run.db").write_bytes(content[: size + 1000])
        for readonly in (True, False):
            with open_store(cut, readonly=readonly) as store:
                assert Content(store).findings("counter").state_count() == SIZE
                assert Sealed(store.connection).problems == []


def test_a_database_that_another_program_holds(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("misstep.campaigns.database.BUSY_SECONDS", 0.1)
    with open_store(campaign) as store, closing(sqlite3.connect(campaign / "run.db")) as other:
        findings = Content(store).findings("counter")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputFileError, match="another program has the database locked"):
            add_tested(findings, SIZE - 10)
        other.rollback()
        add_tested(findings, SIZE - 10)
        findings.add_states([state_row(SIZE)])
        Content(store).add_event("remark", "x")
