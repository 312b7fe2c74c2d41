"""The digest of the records of a campaign, kept up to date by whoever writes them.

A row has a digest, the SHA-256 of its table and its values. A table has the number of its rows and the sum of their
digests modulo 2^256. A sum needs no order, and a row that is deleted or replaced is subtracted. The sums stand in
`meta` under the key `seal` and are written in the transaction that changes the rows. So a reader sees rows and sums of
one moment, and a killed writer leaves none that do not fit.

The rows are collected by triggers of the writer's own connection, which are no part of the file: rows that are written
in another way than before cannot be forgotten. Of the four tables that grow with every record, new rows are not asked
back from SQLite, as that takes longer than to hash them: the seal inserts them itself, and hashes what it inserts. So
that none is forgotten there, either, SQLite refuses to prepare any other INSERT into these tables; and a value that the
table would hold as another one than was given is an error. A row that somebody else has changed is never made up for by
what is written later. Times are left out, and so is the table of units: they claim nothing.

The checker has its own code for the same sums (`misstep.checking.seal`). There is no secret in them: whoever changes
rows can also compute new sums. `docs/replay.md` says what that proves.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, MisstepError

KEY = "seal"
MODULUS = 1 << 256
ROWS_AT_ONCE = 1000
UNSEALED_KEYS = (KEY, "writing")
UNSEALED_TABLES = ("units",)
UNSEALED_COLUMNS = ("seconds", "at", "time")
# Large values, of which a row holds a digest instead.
PACKED_TABLES = ("tasks", "dominance", "knowledge", "strategies")
# Tables whose new rows are inserted by the seal itself.
GIVEN_TABLES = ("states", "runs", "verdicts", "faults")
_AFFINITIES = {"INTEGER": "i", "TEXT": "t", "REAL": "r"}
Value = int | float | str | bytes | None
Sums = dict[str, tuple[int, int]]
"""Of each table: how many rows, and the sum of their digests."""


def sums_of(rows: list[tuple[Value, ...]]) -> Sums:
    """Of rows that begin with the name of their table.

    Python's `ascii` writes no two rows alike, on every Python, and its text is what is hashed. The core writes and
    hashes the same texts.
    """
    from misstep import (
        _core,  # here: whoever looks for a campaign that is not there does not wait for it
    )

    found = _core.row_sums(rows, PACKED_TABLES)
    return {table: (count, int.from_bytes(total, "big")) for table, (count, total) in found.items()}


class Seal:
    """Keeps the sums of the one connection that writes. Between `begin` and `end` lies a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sums = read_sums(connection)
        self._next = self._sums
        self._added: list[tuple[Value, ...]] = []
        self._removed: list[tuple[Value, ...]] = []
        self._given: dict[str, list[tuple[Value, ...]]] = {table: [] for table in GIVEN_TABLES}
        self._places = {table: _places(connection, table) for table in GIVEN_TABLES}
        self._is_giving = self._is_spoilt = False
        added, removed = self._added.append, self._removed.append
        connection.create_function("misstep_added", -1, lambda *row: added(row))
        connection.create_function("misstep_removed", -1, lambda *row: removed(row))
        # A replaced row is deleted, which SQLite tells triggers only if it is asked to.
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.executescript("".join(_triggers(connection)))
        connection.set_authorizer(self._authorize)

    def _authorize(self, action: int, table: str | None, *_: object) -> int:
        """Asked about a statement before it is prepared."""
        forgotten = action == sqlite3.SQLITE_INSERT and table in GIVEN_TABLES
        return sqlite3.SQLITE_DENY if forgotten and not self._is_giving else sqlite3.SQLITE_OK

    def insert(
        self, table: str, rows: Sequence[tuple[Value, ...]], statement: str, *, one_by_one: bool
    ) -> None:
        """Insert rows into one of the tables above. One by one, if those that are there already are left out."""
        # No other statement reads the same: prepared ones are kept, and nobody is asked about them again.
        own = f"{statement} -- given"
        self._is_giving = True
        try:
            if one_by_one:
                execute = self._connection.execute
                rows = [row for row in rows if execute(own, row).rowcount == 1]
            else:
                self._connection.executemany(own, rows)
            self._given[table] += rows
        except BaseException:
            self._is_spoilt = True  # some may be there and others not
            raise
        finally:
            self._is_giving = False

    def begin(self) -> None:
        """A transaction has begun. One that failed has changed nothing."""
        self._added.clear()
        self._removed.clear()
        for rows in self._given.values():
            rows.clear()
        self._is_spoilt = False

    def end(self) -> None:
        """Write what the transaction has changed, as its last statement."""
        self._next = self._sums
        if self._is_spoilt:
            raise MisstepError("internal error: rows that were refused are part of a transaction")
        if not self._added and not self._removed and not any(self._given.values()):
            return
        sums = dict(self._sums)
        for found, sign in (
            (self._given_sums(), 1),
            (sums_of(self._added), 1),
            (sums_of(self._removed), -1),
        ):
            for table, (changed, change) in found.items():
                count, total = sums.get(table, (0, 0))
                sums[table] = count + sign * changed, (total + sign * change) % MODULUS
        self._connection.execute("UPDATE meta SET value = ? WHERE key = ?", (_written(sums), KEY))
        self._next = sums

    def stored(self) -> None:
        """The transaction is stored."""
        self._sums = self._next

    def _given_sums(self) -> Sums:
        from misstep import _core

        found = {}
        for table, rows in self._given.items():
            if rows:
                count, total = _core.table_sum(table, rows, *self._places[table])
                found[table] = count, int.from_bytes(total, "big")
        return found


def _places(connection: sqlite3.Connection, table: str) -> tuple[list[int], str]:
    """Where the columns that have a part in the digest stand in a row, and what they hold."""
    info = connection.execute(f"PRAGMA main.table_info({table})").fetchall()
    own = [(place, kind) for place, name, kind, *_ in info if name not in UNSEALED_COLUMNS]
    return [place for place, _ in own], "".join(_AFFINITIES[kind] for _, kind in own)


def _triggers(connection: sqlite3.Connection) -> Iterator[str]:
    keys = ", ".join(f"'{key}'" for key in UNSEALED_KEYS)
    for table, columns in sealed_columns(connection).items():
        added, removed = (
            f"misstep_{what}('{table}', {', '.join(f'{row}.{column}' for column in columns)})"
            for what, row in (("added", "NEW"), ("removed", "OLD"))
        )
        for event, row, calls in (
            ("INSERT", "NEW", added),
            ("DELETE", "OLD", removed),
            ("UPDATE", "NEW", f"{removed}, {added}"),
        ):
            if event == "INSERT" and table in GIVEN_TABLES:
                continue
            when = f"WHEN {row}.key NOT IN ({keys})" if table == "meta" else ""
            yield (
                f"CREATE TEMP TRIGGER {event}_{table} AFTER {event} ON main.{table} {when} "
                f"BEGIN SELECT {calls}; END;\n"
            )


def sealed_columns(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The tables of the database, with those of their columns that have a part in the digest."""
    tables = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
    found: dict[str, list[str]] = {}
    for (name,) in tables.fetchall():
        if name not in UNSEALED_TABLES:
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({name})")]
            found[name] = [column for column in columns if column not in UNSEALED_COLUMNS]
    return found


def read_sums(connection: sqlite3.Connection) -> Sums:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
    try:
        known = parse_json(found[0])
        return {table: (int(n), int(total, 16)) for table, (n, total) in known.items()}
    except (TypeError, ValueError, AttributeError):
        raise InputFormatError(
            "the database is damaged: it has no digest of its records",
            expected="the number and the digest of the rows of each table",
        ) from None


def _written(sums: Sums) -> str:
    """In the order of the names, whatever was stored first."""
    return json.dumps({table: [n, f"{total:064x}"] for table, (n, total) in sorted(sums.items())})


def computed_sums(connection: sqlite3.Connection) -> Sums:
    """From all rows."""
    sums: Sums = {}
    for table, columns in sealed_columns(connection).items():
        count = total = 0
        cursor = connection.execute(f"SELECT '{table}', {', '.join(columns)} FROM {table}")
        while found := cursor.fetchmany(ROWS_AT_ONCE):
            rows = [row for row in found if table != "meta" or row[1] not in UNSEALED_KEYS]
            more, change = sums_of(rows).get(table, (0, 0))
            count, total = count + more, (total + change) % MODULUS
        if count:
            sums[table] = count, total
    return sums


def seal_from_scratch(connection: sqlite3.Connection) -> None:
    """Of a database that is being made."""
    text = _written(computed_sums(connection))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, text))


__all__ = [
    "GIVEN_TABLES",
    "KEY",
    "Seal",
    "computed_sums",
    "read_sums",
    "seal_from_scratch",
    "sums_of",
]
