"""The tables of `run.db`.

Readable with any SQLite program. States are text (`0 3 1`), names of operators and numbers of events are JSON, the
SAS file of a task is compressed with zlib; nothing is pickled. NULL stands for an infinite number, as in the records.
"""

from __future__ import annotations

import sqlite3

from misstep.errors import InputFormatError, UnsupportedError

VERSION = 2
"""Raised with every change of the tables; a change comes with a step in MIGRATIONS."""

# Stands in the header of the file and tells our databases from others ("MsSt").
APPLICATION_ID = 0x4D735374

# What the second version brought.
SECOND = """
CREATE TABLE dominance (
    task INTEGER PRIMARY KEY REFERENCES tasks(id),
    tables BLOB,
    problem TEXT
);

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    source BLOB NOT NULL
);

CREATE TABLE fuzzed (
    first INTEGER PRIMARY KEY,
    runs INTEGER NOT NULL,
    unsafe INTEGER NOT NULL,
    ends TEXT NOT NULL
);

CREATE TABLE paths (
    number INTEGER PRIMARY KEY,
    states TEXT NOT NULL UNIQUE,
    labels TEXT NOT NULL,
    analysed INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE decided (
    idx INTEGER PRIMARY KEY,
    state TEXT NOT NULL UNIQUE,
    path INTEGER NOT NULL REFERENCES paths(number),
    step INTEGER NOT NULL,
    label TEXT NOT NULL,
    verdict TEXT NOT NULL,
    smallest_radius REAL,
    fault INTEGER,
    outcome TEXT,
    strategy TEXT,
    seconds REAL NOT NULL,
    evaluations INTEGER NOT NULL
);
"""

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    sas BLOB NOT NULL,
    domain_name TEXT, domain BLOB,
    problem_name TEXT, problem BLOB
);

CREATE TABLE policy (spec TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE pool (
    task INTEGER NOT NULL REFERENCES tasks(id),
    idx INTEGER NOT NULL,
    state TEXT NOT NULL,
    reference INTEGER,
    walk TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (task, idx),
    UNIQUE (task, state),
    FOREIGN KEY (task, reference) REFERENCES pool(task, idx)
);

CREATE TABLE runs (
    task INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    steps INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    operators TEXT NOT NULL,
    message TEXT,
    PRIMARY KEY (task, idx),
    FOREIGN KEY (task, idx) REFERENCES pool(task, idx)
);

CREATE TABLE verdicts (
    task INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    kind TEXT,
    gap_low INTEGER,
    gap_high INTEGER,
    upper_bound INTEGER,
    lower_bound INTEGER,
    oracle TEXT,
    witness TEXT,
    seconds REAL NOT NULL,
    expansions INTEGER NOT NULL,
    evaluations INTEGER NOT NULL,
    derivation TEXT,
    PRIMARY KEY (task, idx),
    FOREIGN KEY (task, idx) REFERENCES runs(task, idx)
);

{SECOND}
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    task TEXT,
    text TEXT NOT NULL,
    numbers TEXT NOT NULL
);
"""

MIGRATIONS: dict[int, str] = {
    1: f"ALTER TABLE verdicts ADD COLUMN derivation TEXT; {SECOND.strip().rstrip(';')}",
}
"""Statements that lead from a version to the next one."""


def create_tables(connection: sqlite3.Connection) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")
    connection.execute("INSERT INTO meta VALUES ('schema', ?)", (str(VERSION),))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("COMMIT")


def check_version(connection: sqlite3.Connection, where: str) -> int:
    """The version of the tables, if this program can read them."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise InputFormatError("a database of another program", where=where, expected="a campaign")
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or not str(row[0]).isdecimal():
        raise InputFormatError("the database does not say its schema version", where=where)
    version = int(row[0])
    if version > VERSION:
        raise UnsupportedError(
            f"the campaign has schema {version}",
            where=where,
            expected=f"schema {VERSION} or older",
            hint="it was written by a newer misstep: use that one",
        )
    if any(old not in MIGRATIONS for old in range(version, VERSION)):
        raise UnsupportedError(
            f"the campaign has schema {version}",
            where=where,
            expected=f"schema {VERSION}",
            hint="it was written by an older misstep: use that one, or start a new campaign (settings: config.toml)",
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring older tables up to date, all steps or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for old in range(version, VERSION):
            for statement in MIGRATIONS[old].split(";"):
                connection.execute(statement)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(VERSION),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


__all__ = ["APPLICATION_ID", "MIGRATIONS", "VERSION", "check_version", "create_tables", "migrate"]
