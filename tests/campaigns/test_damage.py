"""Folders and databases that are not as they should be: a clear line, no traceback, no silent loss."""

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

import pytest

from misstep._core import CounterRandom
from misstep.campaigns import schema
from misstep.campaigns.records import Event
from misstep.campaigns.store import create_store, open_store
from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError
from support.campaigns import SIZE, fill, pool_record, run_record, verdict_record
from support.disk import files_up_to

TESTS = Path(__file__).resolve().parents[1]


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute(statement)


def content(folder: Path) -> tuple[object, ...]:
    with open_store(folder, readonly=True) as store:
        return (
            store.pool("counter"),
            store.runs("counter"),
            store.verdicts("counter"),
            store.task("counter").sas,
            store.config,
            store.policy,
        )


# -- cut off and corrupted ------------------------------------------------------------------------


def test_cut_off_anywhere(campaign: Path) -> None:
    path = campaign / "run.db"
    whole = path.read_bytes()
    random = CounterRandom(1)
    pages = range(0, len(whole), 4096)
    cuts = {0, 1, 15, 16, 50, 99, 100, 101, len(whole) - 1, len(whole) - 100, *pages}
    cuts |= {random.below(len(whole)) for _ in range(60)}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        for readonly in (True, False):
            with pytest.raises(InputFormatError, match="cut off") as caught:
                open_store(campaign, readonly=readonly)
            assert str(path) in str(caught.value)
            assert "start a new campaign with the same settings" in str(caught.value)
            assert path.read_bytes() == whole[:cut]
    path.write_bytes(whole)
    content(campaign)


def test_a_cut_says_what_can_be_read(campaign: Path) -> None:
    path = campaign / "run.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 10])
    with pytest.raises(InputFormatError, match=f"{SIZE} pool states"):
        open_store(campaign, readonly=True)
    path.write_bytes(whole[:200])
    with pytest.raises(InputFormatError, match="nothing in it can be read"):
        open_store(campaign, readonly=True)


def test_flipped_bytes_never_end_in_a_traceback(campaign: Path) -> None:
    path = campaign / "run.db"
    whole = path.read_bytes()
    random = CounterRandom(2)
    refused = 0
    for round_ in range(150):
        damaged = bytearray(whole)
        # One byte, or a run of zeros such as a bad sector leaves.
        at = random.below(len(whole))
        if round_ % 2:
            damaged[at] ^= 1 << random.below(8)
        else:
            damaged[at : at + 512] = bytes(len(damaged[at : at + 512]))
        path.write_bytes(damaged)
        try:
            content(campaign)
        except MisstepError:
            refused += 1
    assert refused > 30


def test_zeroed_page_is_found(campaign: Path) -> None:
    path = campaign / "run.db"
    whole = path.read_bytes()
    for page in range(4096, len(whole), 4096):
        path.write_bytes(whole[:page] + bytes(4096) + whole[page + 4096 :])
        with pytest.raises(InputFormatError, match="damaged") as caught:
            open_store(campaign)
        assert "start a new campaign with the same settings" in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM pool WHERE idx = 35", "ends with number 39"),
        ("DELETE FROM pool WHERE idx = 3", "refers to nothing"),
        ("UPDATE pool SET reference = 77 WHERE idx = 5", "refers to nothing"),
        ("UPDATE pool SET state = '0 x' WHERE idx = 5", "a damaged row"),
        ("UPDATE pool SET walk = '{}' WHERE idx = 5", "a damaged row"),
        ("UPDATE runs SET outcome = 'gaol' WHERE idx = 5", "a damaged row"),
        ("UPDATE verdicts SET witness = '[1]' WHERE idx = 5", "a damaged row"),
        ("UPDATE verdicts SET gap_low = 'x' WHERE idx = 5", "a damaged row"),
        ("UPDATE tasks SET sas = x'00'", "SAS file of counter is not what"),
        ("UPDATE tasks SET digest = 'x'", "SAS file of counter is not what"),
        ("DELETE FROM meta WHERE key = 'config'", "no config"),
        ("DELETE FROM meta WHERE key = 'schema'", "schema version"),
        ("DROP TABLE runs", "damaged"),
    ],
)
def test_rows_that_do_not_fit(campaign: Path, statement: str, message: str) -> None:
    change(campaign, statement)
    with pytest.raises(InputFormatError, match=message):
        content(campaign)


def test_a_database_without_its_log_is_remarked(tmp_path: Path) -> None:
    store = create_store(tmp_path / "c", {})
    fill(store, 20, 10)
    shutil.copytree(tmp_path / "c", tmp_path / "whole")
    shutil.copytree(tmp_path / "c", tmp_path / "alone")
    (tmp_path / "alone" / "run.db-wal").unlink()
    store.close()
    with open_store(tmp_path / "whole", readonly=True) as copy:
        assert copy.last_unit("counter").tested == 10
        assert copy.remarks == ()
    with open_store(tmp_path / "alone", readonly=True) as copy:
        assert "newest records are missing" in copy.remarks[0]


# -- not ours, not now ----------------------------------------------------------------------------


def test_folders_that_are_no_campaign(tmp_path: Path) -> None:
    for readonly in (True, False):
        with pytest.raises(InputFileError, match="no such folder"):
            open_store(tmp_path / "nowhere", readonly=readonly)
        with pytest.raises(InputFileError, match=r"there is no run\.db"):
            open_store(tmp_path, readonly=readonly)
        with pytest.raises(InputFileError, match="not a folder"):
            open_store(Path(__file__), readonly=readonly)
        with pytest.raises(InputFileError, match=r"no such folder|cannot read"):
            open_store("a\0b", readonly=readonly)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "run.db").write_text("a text of some length, " * 20)
    with pytest.raises(InputFormatError, match="no SQLite database"):
        open_store(tmp_path)
    (tmp_path / "run.db").unlink()
    change(tmp_path, "CREATE TABLE meta (x)")
    with pytest.raises(InputFormatError, match="another program"):
        open_store(tmp_path)


def test_creating_where_something_is(tmp_path: Path, campaign: Path) -> None:
    with pytest.raises(InputFileError, match="a campaign in this folder already; resume it"):
        create_store(campaign, {})
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputFileError, match=r"not empty: it holds campaign, thesis\.tex"):
        create_store(tmp_path, {})
    with pytest.raises(InputFileError, match="this is a file"):
        create_store(tmp_path / "thesis.tex", {})
    with pytest.raises(InputFileError, match="cannot make"):
        create_store(tmp_path / "thesis.tex" / "c", {})
    # The user's own settings are not ours to overwrite.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.toml").touch()
    with pytest.raises(InputFileError, match=r"it holds config\.toml"):
        create_store(tmp_path / "mine", {})
    create_store(tmp_path / "a" / "b" / "new ü?#%", {}).close()
    open_store(tmp_path / "a" / "b" / "new ü?#%").close()


def test_settings_gone_or_changed(campaign: Path) -> None:
    config = campaign / "config.toml"
    text = config.read_text()
    config.unlink()
    open_store(campaign, readonly=True).close()
    open_store(campaign).close()
    assert config.read_text() == text
    config.write_text("# a remark\n" + text)
    open_store(campaign).close()
    config.write_text(text.replace("7", "8"))
    with pytest.raises(InputFormatError, match="settings were changed"):
        open_store(campaign)
    config.write_bytes(b"\xff")
    with pytest.raises(InputFormatError, match="not UTF-8"):
        open_store(campaign)
    open_store(campaign, readonly=True).close()


# -- schema ---------------------------------------------------------------------------------------


BACK_TO_1 = "ALTER TABLE verdicts DROP COLUMN derivation; " + "; ".join(
    f"DROP TABLE {table}" for table in ("dominance", "models", "fuzzed", "decided", "paths")
)


def test_campaigns_of_version_1_are_brought_up_to_date(campaign: Path) -> None:
    change(campaign, "UPDATE verdicts SET derivation = NULL")
    before = content(campaign)
    for statement in BACK_TO_1.split(";"):
        change(campaign, statement)
    change(campaign, "UPDATE meta SET value = '1' WHERE key = 'schema'")
    with pytest.raises(UnsupportedError, match="resume it once"):
        open_store(campaign, readonly=True)
    open_store(campaign).close()
    assert content(campaign) == before


def test_newer_and_older_schema(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(campaign, "UPDATE meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(UnsupportedError, match=r"schema 99.*newer misstep"):
        open_store(campaign)
    change(campaign, "UPDATE meta SET value = '0' WHERE key = 'schema'")
    for readonly in (True, False):
        with pytest.raises(
            UnsupportedError, match=r"schema 0.*older misstep.*start a new campaign"
        ):
            open_store(campaign, readonly=readonly)
    monkeypatch.setitem(
        schema.MIGRATIONS, 0, f"CREATE TABLE added (x); INSERT INTO added VALUES (5); {BACK_TO_1}"
    )
    with pytest.raises(UnsupportedError, match="resume it once"):
        open_store(campaign, readonly=True)
    open_store(campaign).close()
    with closing(sqlite3.connect(campaign / "run.db")) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [(5,)]
    content(campaign)


def test_a_migration_that_fails_changes_nothing(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(campaign, "UPDATE meta SET value = '0' WHERE key = 'schema'")
    monkeypatch.setitem(schema.MIGRATIONS, 0, "CREATE TABLE added (x); NONSENSE")
    with pytest.raises(InputFormatError):
        open_store(campaign)
    with closing(sqlite3.connect(campaign / "run.db")) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key='schema'").fetchone() == ("0",)
        assert connection.execute("SELECT * FROM sqlite_master WHERE name='added'").fetchall() == []


# -- disks ----------------------------------------------------------------------------------------


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
        with create_store(finished, {}) as store:
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
                assert store.last_unit("counter").tested == 10
        (finished / "run.db").chmod(0)
        with pytest.raises(InputFileError, match="cannot read"):
            open_store(finished, readonly=True)


FULL_DISK = f"""
import shutil, sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
from misstep.campaigns.records import PoolRecord
from misstep.campaigns.store import create_store, open_store
from misstep.errors import InputFileError
from support.campaigns import counter_task, pool_record
folder = Path(sys.argv[1])
stored = 0
try:
    with create_store(folder / "c", {{}}) as store:
        store.add_task(counter_task())
        while True:
            record = pool_record(stored)
            long = PoolRecord("counter", stored, record.state, record.reference, ("x" * 3000,), 0)
            store.add_pool(long)
            stored += 1
except InputFileError as error:
    print(error)
(folder / "ballast").unlink()
with open_store(folder / "c") as store:
    assert store.last_unit("counter").pool == stored > 5, (store.last_unit("counter"), stored)
    store.add_pool(pool_record(stored))
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
    create_store(full, {{}})
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


def test_a_database_that_another_program_holds(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("misstep.campaigns.database.BUSY_SECONDS", 0.1)
    with open_store(campaign) as store, closing(sqlite3.connect(campaign / "run.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputFileError, match="another program has the database locked"):
            store.add_tested(run_record(SIZE - 10), verdict_record(SIZE - 10))
        other.rollback()
        store.add_tested(run_record(SIZE - 10), verdict_record(SIZE - 10))
        store.add_pool(pool_record(SIZE))
        store.add_event(Event(0, "x"))
