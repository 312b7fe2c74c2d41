"""The tables of `run.db`, the same for planning tasks and models.

Any SQLite program can read them. States and lists of operators are JSON, sources of tasks are compressed with zlib;
nothing is pickled. Operators, and labels of models, are ids: names need not be unique. NULL stands for an infinite
number, as in the records.

A tested state is a row of `states`. The policy's run from it is the row of `runs` that it names, from its step on: a
planning task has a run for each state, while many states of a model lie on one unsafe run.

A strategy that avoids unsafe states is a row of `strategies`, to which many verdicts on a model refer; its format is
described in `misstep.checking.shared`.

For a set-valued policy, `runs.permitted` says what is known of all permitted runs, and the table `permitted` has the
permitted operators of each state that a verdict rests on.

For a model with --risk, `risks` holds intervals for the policy's risk and the least possible risk of a state, and
`decisions` the policy's decisions in all states that it can reach from there, unless they are too many.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache

from misstep.errors import InputFormatError, UnsupportedError

VERSION = 5
"""Incremented with every change of the tables."""

# Stored in the header of the file, to tell our databases from others ("MsSt").
APPLICATION_ID = 0x4D735374

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    world TEXT NOT NULL,
    digest TEXT NOT NULL,
    source BLOB NOT NULL
);

CREATE TABLE policy (spec TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE runs (
    task INTEGER NOT NULL REFERENCES tasks(id),
    number INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    cost INTEGER,
    operators TEXT NOT NULL,
    states TEXT,
    named INTEGER,
    message TEXT,
    seconds REAL NOT NULL,
    permitted TEXT,
    PRIMARY KEY (task, number)
);

CREATE TABLE states (
    task INTEGER NOT NULL REFERENCES tasks(id),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    reference INTEGER,
    walk TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (task, number),
    UNIQUE (task, state),
    FOREIGN KEY (task, reference) REFERENCES states(task, number)
);

CREATE TABLE verdicts (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    oracle TEXT NOT NULL,
    round INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    kind TEXT,
    low INTEGER,
    high INTEGER,
    lower INTEGER,
    upper INTEGER,
    source TEXT,
    plan TEXT,
    derivation TEXT,
    strategy INTEGER,
    size INTEGER,
    expansions INTEGER NOT NULL,
    evaluations INTEGER NOT NULL,
    seconds REAL NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (task, number, oracle),
    FOREIGN KEY (task, number) REFERENCES states(task, number),
    FOREIGN KEY (task, strategy) REFERENCES strategies(task, number)
);

CREATE TABLE strategies (
    task INTEGER NOT NULL REFERENCES tasks(id),
    number INTEGER NOT NULL,
    states INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (task, number)
);

CREATE TABLE faults (
    task INTEGER NOT NULL,
    run INTEGER NOT NULL,
    step INTEGER NOT NULL,
    state TEXT NOT NULL,
    decision INTEGER,
    better INTEGER,
    low INTEGER,
    high INTEGER,
    share REAL,
    recurring INTEGER NOT NULL,
    outcome TEXT,
    PRIMARY KEY (task, run, step),
    FOREIGN KEY (task, run) REFERENCES runs(task, number)
);

CREATE TABLE contradictions (
    task INTEGER NOT NULL REFERENCES tasks(id),
    state TEXT NOT NULL,
    first INTEGER NOT NULL,
    second INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    PRIMARY KEY (task, state)
);

CREATE TABLE permitted (
    task INTEGER NOT NULL REFERENCES tasks(id),
    state TEXT NOT NULL,
    operators TEXT NOT NULL,
    probabilities TEXT,
    PRIMARY KEY (task, state)
);

CREATE TABLE risks (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    least_low REAL NOT NULL,
    least_high REAL NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task, number) REFERENCES states(task, number)
);

CREATE TABLE decisions (
    task INTEGER NOT NULL REFERENCES tasks(id),
    state TEXT NOT NULL,
    label INTEGER,
    PRIMARY KEY (task, state)
);

CREATE TABLE dominance (
    task INTEGER PRIMARY KEY REFERENCES tasks(id),
    tables BLOB,
    problem TEXT
);

CREATE TABLE knowledge (
    task INTEGER NOT NULL REFERENCES tasks(id),
    oracle TEXT NOT NULL,
    round INTEGER NOT NULL,
    part INTEGER NOT NULL,
    given INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (task, oracle, round, part)
);

CREATE TABLE fuzzed (
    task INTEGER NOT NULL REFERENCES tasks(id),
    first INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    ends TEXT NOT NULL,
    PRIMARY KEY (task, first)
);

CREATE TABLE units (
    task INTEGER NOT NULL REFERENCES tasks(id),
    stage TEXT NOT NULL,
    key TEXT NOT NULL,
    seconds REAL NOT NULL,
    policy_calls INTEGER NOT NULL,
    batches TEXT NOT NULL,
    PRIMARY KEY (task, stage, key)
);

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    task TEXT,
    text TEXT NOT NULL
);
"""


def create_tables(connection: sqlite3.Connection) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES}")
    connection.execute("INSERT INTO meta VALUES ('schema', ?)", (str(VERSION),))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("COMMIT")


Definition = tuple[str, str, str, str | None]  # type, name, table, the text that made it


@lru_cache(maxsize=1)
def definitions() -> frozenset[Definition]:
    """The exact definitions of all tables in a database of ours."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        return frozenset(connection.execute(_DEFINITIONS))


_DEFINITIONS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def check_schema(connection: sqlite3.Connection, where: str) -> None:
    """Raise an error unless the tables are exactly ours, before anything else is read.

    A view, a trigger, a generated column or a virtual table in a database from a stranger would run what the stranger
    wrote, as part of our queries.
    """
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise InputFormatError(
            "this is a database of another program", where=where, expected="a campaign"
        )
    found = set(connection.execute(_DEFINITIONS))
    own = {entry for entry in definitions() if entry[2] == "meta"}
    if not own <= found:
        raise InputFormatError("the database does not say its schema version", where=where)
    check_version(connection, where)
    known = {name for _, name, *_ in definitions()}
    for kind, name, *_ in sorted(
        found ^ definitions(), key=lambda own: (own[0] != "table", str(own))
    ):
        state = "missing or changed" if name in known else "unknown"
        raise InputFormatError(
            f"the database is damaged or was changed by somebody: the {kind} {name!r:.60} is {state}",
            where=where,
            expected="the tables of a campaign, exactly as misstep makes them",
        )


def check_version(connection: sqlite3.Connection, where: str) -> None:
    """Raise an error if the database has another schema version."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or not str(row[0]).isdecimal():
        raise InputFormatError("the database does not say its schema version", where=where)
    version = int(row[0])
    if version != VERSION:
        age, other = ("newer", "that") if version > VERSION else ("older", "an older")
        raise UnsupportedError(
            f"the campaign has schema {version}",
            where=where,
            expected=f"schema {VERSION}",
            hint=f"a{'n' if age == 'older' else ''} {age} misstep wrote it: read it with {other} one, "
            "or test again with the settings in its config.toml",
        )


__all__ = ["APPLICATION_ID", "VERSION", "check_schema", "create_tables", "definitions"]
