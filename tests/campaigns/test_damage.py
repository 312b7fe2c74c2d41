"""Folders and databases that are not as they should be: a clear line, no traceback, no silent loss."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from misstep._core import CounterRandom
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.store import Store, create_store, open_store
from misstep.campaigns.tables import Content
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError
from support.campaigns import (
    BATCHES,
    CONFIG,
    NOISY,
    SHARING,
    SIZE,
    fill,
    small_model,
    told,
)
from support.tasks import small_task

TESTS = Path(__file__).resolve().parents[1]


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute(statement)


def content(folder: Path) -> tuple[object, ...]:
    """All that there is to read."""
    with open_campaign(folder) as found:
        return told(found), found.summary.as_dict(), found.tasks, found.settings, found.policy


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
    with pytest.raises(InputFormatError, match=f"{SIZE} states"):
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


def opened_and_read(folder: Path) -> None:
    """Opening finds most damage; that in the middle of a task's own files is found when they are read."""
    open_store(folder).close()
    content(folder)


def test_zeroed_page_is_found(campaign: Path) -> None:
    path = campaign / "run.db"
    whole = path.read_bytes()
    for page in range(4096, len(whole), 4096):
        path.write_bytes(whole[:page] + bytes(4096) + whole[page + 4096 :])
        with pytest.raises(InputFormatError, match="damaged") as caught:
            opened_and_read(campaign)
        assert "start a new campaign with the same settings" in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM states WHERE number = 35", "the last one has number 39"),
        ("DELETE FROM states WHERE number = 3", "refers to nothing"),
        ("DELETE FROM runs WHERE number = 3", "state 3 has no run"),
        ("UPDATE states SET reference = 77 WHERE number = 5", "refers to nothing"),
        ("UPDATE states SET reference = 5 WHERE number = 5", "state 5 refers to state 5"),
        ("UPDATE states SET reference = 11 WHERE number = 5", "state 5 refers to state 11"),
        ("UPDATE states SET state = '0 x' WHERE number = 5", "a damaged row"),
        ("UPDATE states SET state = '[0, \"x\"]' WHERE number = 5", "a damaged row"),
        ("UPDATE states SET state = '[]' WHERE number = 5", "a damaged row"),
        ("UPDATE states SET state = '[0]' WHERE number = 5", "not a state of counter"),
        ("UPDATE states SET state = '[0, 99999]' WHERE number = 5", "not a state of counter"),
        ("UPDATE states SET state = '[0, -3]' WHERE number = 5", "not a state of counter"),
        ("UPDATE states SET state = '[0, 1e400]' WHERE number = 5", "too large"),
        ("UPDATE states SET state = '[0, 9223372036854775808]' WHERE number = 5", "64 bits"),
        ("UPDATE states SET walk = '{}' WHERE number = 5", "a damaged row"),
        ("UPDATE states SET walk = '[7]' WHERE number = 5", "no operator has the id 7"),
        ("UPDATE states SET walk = '[-1]' WHERE number = 5", "no operator has the id -1"),
        ("UPDATE states SET seconds = 'x' WHERE number = 5", "a damaged row"),
        ("UPDATE states SET step = -1 WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET outcome = 'gaol' WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET cost = 'x' WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET cost = -1 WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET operators = '[2]' WHERE number = 5", "no operator has the id 2"),
        ("UPDATE runs SET operators = '[true]' WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET message = x'ff' WHERE number = 5", "a damaged row"),
        ("UPDATE runs SET states = '[[]]' WHERE number = 5", "a damaged row"),
        ("UPDATE verdicts SET plan = '[\"op0\"]' WHERE number = 3", "a damaged row"),
        ("UPDATE verdicts SET plan = '[9]' WHERE number = 3", "no operator has the id 9"),
        ("UPDATE verdicts SET low = 'x' WHERE number = 5", "a damaged row"),
        ("UPDATE verdicts SET low = 5, high = 4 WHERE number = 5", "a damaged row"),
        ("UPDATE verdicts SET verdict = 'MAYBE' WHERE number = 5", "a damaged row"),
        ("UPDATE verdicts SET kind = 'odd' WHERE number = 3", "a damaged row"),
        ("UPDATE verdicts SET kind = NULL WHERE number = 3", "a damaged row"),
        ("UPDATE verdicts SET derivation = '[1]' WHERE number = 3", "a damaged row"),
        ("UPDATE verdicts SET strategy = 1.5 WHERE number = 3", "refers to nothing"),
        ("UPDATE verdicts SET strategy = '[1]' WHERE number = 3", "refers to nothing"),
        ("UPDATE verdicts SET at = 'x' WHERE number = 3", "a damaged row"),
        (
            "INSERT INTO faults VALUES (1, 3, 0, '[0, 0]', 'x', 1, 1, 1, NULL, 0, NULL)",
            "damaged row",
        ),
        ("INSERT INTO faults VALUES (1, 3, 0, '[0, 0]', 7, 1, 1, 1, NULL, 0, NULL)", None),
        ("INSERT INTO units VALUES (1, 'blamed', 'x', 0, 0, '{}')", "a damaged row"),
        ("INSERT INTO units VALUES (1, 'pool', 'x', 0, 0, '[3]')", "a damaged row"),
        ("INSERT INTO units VALUES (1, 'pool', 'x', 0, 0, '{\"0\": 1}')", "a damaged row"),
        ("UPDATE tasks SET source = x'00'", "the task counter"),
        ("UPDATE tasks SET source = 5", "the task counter"),
        ("UPDATE tasks SET digest = 'x'", "its files are not what they were"),
        ("DELETE FROM meta WHERE key = 'config'", "no config"),
        ("UPDATE meta SET value = 'x = ' WHERE key = 'config'", "not TOML"),
        ("UPDATE meta SET value = 'x = 1' WHERE key = 'config'", "no setting 'x'"),
        ("UPDATE meta SET value = 'policy = 1' WHERE key = 'config'", "the policy is 1"),
        ("DELETE FROM meta WHERE key = 'schema'", "schema version"),
        ("DROP TABLE runs", "damaged"),
    ],
)
def test_rows_that_do_not_fit(campaign: Path, statement: str, message: str | None) -> None:
    change(campaign, statement)
    if message is None:  # a fault of a record without blame is not looked at
        content(campaign)
        return
    with pytest.raises(InputFormatError, match=message) as caught:
        content(campaign)
    assert "\n" not in str(caught.value)


VALUES = ["x", "", "[]", "{}", "[[", "null", "-1", "1e999", -1, 2**62, 0.5, b"\xff", None]
LIKELY = {"states", "runs", "verdicts", "faults", "dominance", "knowledge", "units", "fuzzed"}


@pytest.mark.parametrize("world", ["planning", "model"])
def test_any_value_anywhere_is_a_line_or_nothing(tmp_path: Path, world: str) -> None:
    """Each column of each table with each odd value, in a real campaign: read, summed up, and gone on with."""
    if world == "planning":
        task, how = small_task("gripper-4"), {"pool": 8, "oracle": "bmo(5)", "config": SHARING}
        run_campaign(task, NOISY, out=tmp_path / "c", **how).close()  # type: ignore[arg-type]
    else:
        model = small_model("two-way-line")
        run_campaign(model, "first", runs=20, config=BATCHES, out=tmp_path / "c").close()
    path = tmp_path / "c" / "run.db"
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        columns = [
            (table, column)
            for table in sorted(LIKELY | {"tasks", "policy", "events"})
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
        ]
    random = CounterRandom(5)
    refused = 0
    for table, column in columns:
        value = VALUES[random.below(len(VALUES))]
        path.write_bytes(whole)
        try:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT max(rowid) FROM {table})"
                    if table != "policy"
                    else f"UPDATE policy SET {column} = ?",
                    (value,),
                )
        except sqlite3.Error:
            continue  # the tables themselves refuse it
        try:
            content(tmp_path / "c")
            with open_campaign(tmp_path / "c") as found:
                size = {"pool": 10} if world == "planning" else {"runs": 24}
                found.resume(**size)  # type: ignore[arg-type]
                told(found)
        except MisstepError:
            refused += 1
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        (tmp_path / "c" / "config.toml").unlink(missing_ok=True)
    assert refused > len(columns) // 4


def test_a_database_without_its_log_is_remarked(tmp_path: Path) -> None:
    store = create_store(tmp_path / "c", CONFIG)
    fill(store, 20, 10)
    shutil.copytree(tmp_path / "c", tmp_path / "whole")
    shutil.copytree(tmp_path / "c", tmp_path / "alone")
    (tmp_path / "alone" / "run.db-wal").unlink()
    store.close()
    with open_store(tmp_path / "whole", readonly=True) as copy:
        assert len(Content(copy).findings("counter").verdicts()) == 10
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
    config.write_text(text.replace("seed = 7", "seed = 8"))
    with pytest.raises(InputFormatError, match="settings were changed"):
        open_store(campaign)
    config.write_bytes(b"\xff")
    with pytest.raises(InputFormatError, match="not UTF-8"):
        open_store(campaign)
    open_store(campaign, readonly=True).close()


def test_a_kill_while_settings_change_leaves_the_old_or_the_new_ones(campaign: Path) -> None:
    """The file never says something else than the database, which would look like a change by the user."""

    def interrupted(store: Store) -> None:
        with store.unit():
            store.set_config({**CONFIG, "seed": 8})
            raise KeyboardInterrupt

    with open_store(campaign) as store, pytest.raises(KeyboardInterrupt):
        interrupted(store)
    with open_store(campaign) as store:
        assert store.config == CONFIG
        with store.unit():
            store.set_config({**CONFIG, "seed": 8})
        # Killed here, before the file is written.
    with open_store(campaign) as store:
        assert store.config["seed"] == 8
    assert "seed = 8" in (campaign / "config.toml").read_text()


def test_a_moved_folder_is_the_same_campaign(tmp_path: Path) -> None:
    """Nothing in it refers to where it lay, nor to the files of its task."""
    task = small_task("gripper-4")
    run_campaign(task, NOISY, pool=6, oracle="undo", out=tmp_path / "a" / "c").close()
    before = content(tmp_path / "a" / "c")[0]
    (tmp_path / "a").rename(tmp_path / "b")
    assert content(tmp_path / "b" / "c")[0] == before
    with open_campaign(tmp_path / "b" / "c") as found:
        found.resume(pool=8)
        assert len(found) == 8
        assert found.replay(rerun=True).ok


# -- schema ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "says"),
    [
        (2, r"schema 2; expected schema 5; an older misstep wrote it.*config\.toml"),
        (0, "schema 0.*an older misstep"),
        (6, r"schema 6; expected schema 5; a newer misstep wrote it.*config\.toml"),
        (99, "schema 99.*a newer misstep"),
    ],
)
def test_newer_and_older_schema(campaign: Path, version: int, says: str) -> None:
    change(campaign, f"UPDATE meta SET value = '{version}' WHERE key = 'schema'")
    before = (campaign / "run.db").read_bytes()
    for readonly in (True, False):
        with pytest.raises(UnsupportedError, match=says):
            open_store(campaign, readonly=readonly)
    assert (campaign / "run.db").read_bytes() == before


def test_another_application(campaign: Path) -> None:
    change(campaign, "PRAGMA application_id = 17")
    for readonly in (True, False):
        with pytest.raises(InputFormatError, match="a database of another program"):
            open_store(campaign, readonly=readonly)
