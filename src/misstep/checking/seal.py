"""Checks whether the records of a campaign are those that were written, by a digest over its rows.

The writer of a campaign stores, for each table, the number of its rows and the sum of their digests, modulo 2^256, in
`meta` under the key `seal`. The digest of a row is the SHA-256 of the text that Python's `ascii` gives for the tuple of
the table's name and the values, without columns that hold times; in tables with large values, `("sha256", hex digest)`
stands for a value of type BLOB. Here the sums are computed again from all rows.

This finds rows that were changed, removed or added by hand or by accident. Since anyone can compute new sums, the
digest is a proof only for those who have noted it elsewhere.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator

from misstep.checking.stored import loaded

KEY = "seal"
_LEFT_OUT = frozenset({"seconds", "at", "time"})
_KEYS_LEFT_OUT = frozenset({KEY, "writing"})
_WITH_LARGE_VALUES = frozenset({"tasks", "dominance", "knowledge", "strategies"})
CHANGED = "the records are not those that were written"


class Sealed:
    """The result: `problems`, one for each table, and the `digest` of the whole campaign, which users can note."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.problems: list[str] = []
        self.rows = 0
        found = connection.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
        self.digest: str | None = None
        if found is None:
            return
        written = loaded(found[0], "the digest of the records")
        if not isinstance(written, dict):
            self.problems.append("the digest of the records is damaged")
            return
        counted = dict(_sums(connection))
        for table in sorted(counted.keys() | written.keys()):
            self._compare(str(table), counted.get(table, (0, 0)), written.get(table))
        text = ascii(sorted((table, n, f"{total:064x}") for table, (n, total) in counted.items()))
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def _compare(self, table: str, counted: tuple[int, int], written: object) -> None:
        rows, total = counted
        self.rows += rows
        if written is None and rows == 0:
            return
        entry = written if isinstance(written, list) and len(written) == 2 else [0, ""]
        was, digest = entry
        if not isinstance(was, int) or not re.fullmatch("[0-9a-f]{64}", str(digest)):
            was, digest = 0, "0" * 64
        if was != rows:
            self.problems.append(f"{CHANGED}: {table} has {rows} rows, and {was} were written")
        elif int(str(digest), 16) != total:
            self.problems.append(f"{CHANGED}: rows of {table} were changed")


def _sums(connection: sqlite3.Connection) -> Iterator[tuple[str, tuple[int, int]]]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        if table == "units":
            continue
        info = connection.execute(f'PRAGMA table_info("{table}")')
        columns = [row[1] for row in info if row[1] not in _LEFT_OUT]
        shown = ", ".join(f'"{column}"' for column in columns)
        rows, total = 0, 0
        for row in connection.execute(f'SELECT {shown} FROM "{table}"'):
            if table == "meta" and row[0] in _KEYS_LEFT_OUT:
                continue
            rows, total = rows + 1, total + _digest(table, row)
        if rows:
            yield table, (rows, total % 2**256)


def _digest(table: str, row: tuple[object, ...]) -> int:
    if table in _WITH_LARGE_VALUES:
        row = tuple(
            ("sha256", hashlib.sha256(own).hexdigest()) if isinstance(own, bytes) else own
            for own in row
        )
    return int(hashlib.sha256(ascii((table, *row)).encode()).hexdigest(), 16)


__all__ = ["CHANGED", "Sealed"]
