"""What a stranger, or a bad disk, may do to the folder of a campaign."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from misstep._core import CounterRandom


def change(folder: Path, *statements: str, parameters: tuple[object, ...] = ()) -> None:
    """Change the database of a campaign by SQL."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement, parameters)


def store_policy(folder: Path, spec: str) -> None:
    """Let a campaign say that it has tested another policy."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        (config,) = connection.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        (old,) = connection.execute("SELECT spec FROM policy").fetchone()
        changed = config.replace(f'"{old}"', f'"{spec}"')
        assert changed != config
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (changed,))
        connection.execute("UPDATE policy SET spec = ?", (spec,))
    (folder / "config.toml").write_text(changed)


# -- damage at random -----------------------------------------------------------------------------

# What a value may be replaced by: of every type of SQLite, and texts that mean something to us, or nearly so.
VALUES: tuple[object, ...] = (
    None,
    0,
    -1,
    1,
    7,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    0.5,
    -1.5,
    1e308,
    float("inf"),
    "",
    "x",
    "\x1b[31m",
    "[]",
    "[[]]",
    "[0]",
    "[-1]",
    "[1,2,3]",
    "[99999]",
    "[1e999]",
    "[0.5]",
    "[true]",
    "[null]",
    '["x"]',
    "[" + "9" * 5000 + "]",
    "[123456789012345678901234567890]",
    "[-9223372036854775808]",
    "[2147483648]",
    "[" * 600 + "]" * 600,
    "[" * 100_000,
    "{}",
    "[{}]",
    '[{"operator":0}]',
    '[{"operator":-5,"name":"x"}]',
    '[{"state":[0],"value":1}]',
    '[{"state":[0],"value":1,"factors":[{"variables":[99],"value":1}]}]',
    "[[[0],0]]",
    "[[[0,0],99]]",
    "NaN",
    "[NaN]",
    "null",
    "BUG",
    "OPTIMAL",
    "UNKNOWN",
    "FLAKY",
    "NOT A BUG",
    "fails",
    "costly",
    "unsafe",
    "goal",
    "loop",
    "stuck",
    "error",
    "timeout",
    "planning",
    "model",
    "exact",
    "undo",
    "nonsense(3",
    "first",
    "pool",
    "blame exact",
    "\udcff".encode("utf-8", "surrogatepass"),
    b"",
    b"x",
    b"\xff\xfe",
    zlib.compress(b""),
    zlib.compress(b"[]"),
    zlib.compress(b"{}"),
    zlib.compress(b'{"files": {}}'),
    zlib.compress(b'{"world": "model", "files": {}}'),
    zlib.compress(b'{"world": "planning", "files": {"task.sas": "YQ=="}, "name": "x"}'),
    zlib.compress(b'{"world": "planning", "files": {"task.sas": 7}, "name": "x"}'),
    zlib.compress(b'{"world": "planning", "files": [], "name": "x"}'),
    zlib.compress(b"[" * 100_000),
    zlib.compress(bytes(10_000)),
)
TABLES = [
    "meta",
    "tasks",
    "policy",
    "runs",
    "states",
    "verdicts",
    "faults",
    "dominance",
    "knowledge",
    "fuzzed",
    "units",
    "events",
    "contradictions",
    "permitted",
]


def damage_rows(folder: Path, random: CounterRandom) -> str:
    """Change, copy or delete rows at random, as far as SQLite allows; returns what was done."""
    done: list[str] = []
    with closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
        connection.text_factory = bytes
        full = [t for t in TABLES if connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0]]
        for _ in range(1 + random.below(3)):
            table = full[random.below(len(full))]
            columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
            column = columns[random.below(len(columns))]
            value = VALUES[random.below(len(VALUES))]
            place = random.below(
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] or 1
            )
            key = columns[0] if table in ("meta", "policy") else "rowid"
            row = f"{key} = (SELECT {key} FROM {table} LIMIT 1 OFFSET {place})"
            every = "1" if random.below(4) == 0 else row
            what: tuple[str, tuple[object, ...]]
            match random.below(10):
                case 0:
                    what = f"DELETE FROM {table} WHERE {every}", ()
                case 1:
                    other = columns[random.below(len(columns))]
                    what = f"UPDATE {table} SET {column} = {other} WHERE {every}", ()
                case 2:
                    what = f"UPDATE {table} SET {column} = substr({column}, 2) WHERE {every}", ()
                case 3:
                    what = f"UPDATE {table} SET {column} = {column} + 1 WHERE {every}", ()
                case _:
                    what = f"UPDATE {table} SET {column} = ? WHERE {every}", (value,)
            try:
                connection.execute(*what)
                done.append(f"{what[0]} {str(what[1])[:60]}")
            except sqlite3.Error:
                pass  # the tables do not allow it
    return "; ".join(done)


def damage_bytes(folder: Path, random: CounterRandom) -> str:
    """Flip some bytes, in the database or in the settings."""
    path = folder / ("config.toml" if random.below(10) == 0 else "run.db")
    content = bytearray(path.read_bytes())
    places = [random.below(len(content)) for _ in range(1 + random.below(8))]
    for place in places:
        content[place] = random.below(256)
    path.write_bytes(bytes(content))
    return f"bytes {places} of {path.name}"


__all__ = ["change", "damage_bytes", "damage_rows", "store_policy"]
