"""A database holds views, triggers or tables that somebody else has made. It is refused before any other query."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.checking.campaign import check_campaign
from misstep.errors import InputFormatError, MisstepError
from support.attacks import change
from support.commands import misstep

# A query that never ends.
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
FORGED = {
    "view": ("CREATE VIEW more AS SELECT 1",),
    "endless view for a table": (
        "ALTER TABLE events RENAME TO old",
        f"CREATE VIEW events AS SELECT x AS id, 0.0 AS time, '' AS kind, '' AS task, '' AS text FROM ({ENDLESS})",
    ),
    "view for meta": (
        "ALTER TABLE meta RENAME TO old",
        "CREATE VIEW meta AS SELECT key, value FROM old",
    ),
    "view for policy": (
        "DROP TABLE policy",
        "CREATE VIEW policy AS SELECT 'exec:evil' AS spec, 'x' AS digest",
    ),
    "trigger": ("CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM verdicts; END",),
    "trigger on inserts": (
        "CREATE TRIGGER t AFTER INSERT ON units BEGIN "
        f"INSERT INTO events SELECT x, 0, '', '', '' FROM ({ENDLESS}); END",
    ),
    "unknown table": ("CREATE TABLE more (x)",),
    "index": ("CREATE INDEX more ON states (number)",),
    "index on an expression": ("CREATE INDEX more ON states (abs(number))",),
    "column": ("ALTER TABLE runs ADD COLUMN more",),
    "generated column": ("ALTER TABLE runs ADD COLUMN more AS (hex(zeroblob(100000)))",),
    "renamed column": ("ALTER TABLE runs RENAME COLUMN cost TO price",),
    "virtual table": ("CREATE VIRTUAL TABLE more USING fts5(x)",),
    "statistics": ("ANALYZE",),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_tables_are_refused(folder: Path, kind: str) -> None:
    try:
        change(folder, *FORGED[kind])
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))  # this SQLite has no such module
    for command in (
        ("records", folder),
        ("replay", folder),
        ("explain", folder),
        ("test", "--resume", "--pool", "14", "--out", folder),
    ):
        done = misstep(*command)
        assert done.returncode == 31, (command, done.stderr)
    with pytest.raises(InputFormatError):
        open_campaign(folder)


@pytest.mark.parametrize(
    "kind", [kind for kind in FORGED if kind not in ("column", "index", "index on an expression")]
)
def test_the_checker_refuses_them_by_itself(folder: Path, kind: str) -> None:
    try:
        change(folder, *FORGED[kind])
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    with pytest.raises(MisstepError):
        check_campaign(folder)


def test_forged_texts(folder: Path) -> None:
    """The text of a table is changed without SQLite's help."""
    for old, new in (
        ("TEXT NOT NULL UNIQUE", "TEXT NOT NULL"),
        ("spec TEXT PRIMARY KEY", "spec TEXT DEFAULT (hex(randomblob(9))) PRIMARY KEY"),
    ):
        change(
            folder,
            "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}')",
        )
        with pytest.raises(InputFormatError):
            open_campaign(folder)


def test_a_damaged_file_with_a_view(folder: Path) -> None:
    """What is told of a damaged file is counted in tables of ours alone: a view could be endless."""
    change(folder, *FORGED["endless view for a table"])
    path = folder / "run.db"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputFormatError, match="cut off"):
        open_campaign(folder)
