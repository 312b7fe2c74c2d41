"""The digest of a row of a campaign, as its definition says it: the naive twin of the core's."""

from __future__ import annotations

from hashlib import sha256

from misstep.campaigns.seal import PACKED_TABLES, Value


def row_digest(row: tuple[Value, ...]) -> int:
    """Of a table's name and the values of a row."""
    packed = row[0] in PACKED_TABLES
    text = ascii(tuple(_short(value) for value in row) if packed else row)
    return int.from_bytes(sha256(text.encode()).digest(), "big")


def _short(value: Value) -> Value | tuple[str, str]:
    return ("sha256", sha256(value).hexdigest()) if isinstance(value, bytes) else value
