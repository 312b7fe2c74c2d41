"""The stored measurements of families, in a row of the table `meta`.

A measurement belongs to the description that was measured and to the policy, and so to a key and a digest. When the
campaign grows and a description changes, its old measurement is simply not found any more.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from misstep.campaigns.store import Store
from misstep.comparison.families.family import Measured
from misstep.decoding import parse_json
from misstep.errors import InputFormatError

KEY = "families"
MOST_CHARACTERS = 1 << 20
MOST_FAMILIES = 1_000
COUNTS = ("asked", "same", "other")
SHARES = ("low", "high", "worst_low", "worst_high")


def write_measured(store: Store, measured: Mapping[str, Measured], policy: str) -> None:
    """Store measurements; they replace older ones."""
    kept = list(measured.items())[:MOST_FAMILIES]
    rows = {key: dataclasses.asdict(own) for key, own in kept}
    store.set_meta(KEY, json.dumps({"policy": policy, "measured": rows}))


def read_measured(store: Store, policy: str | None) -> dict[str, Measured]:
    """The measurements of this policy, by the keys of families."""
    found = store.rows(
        "SELECT substr(value, 1, ?) FROM meta WHERE key = ?", MOST_CHARACTERS + 1, KEY
    )
    if not found:
        return {}
    text = found[0][0]
    try:
        if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
            raise ValueError("too long")
        tree = parse_json(text)
        if not isinstance(tree, dict) or not isinstance(rows := tree.get("measured"), dict):
            raise ValueError("no table")
        if len(rows) > MOST_FAMILIES:
            raise ValueError("too many")
        measured = {key: _measured(row) for key, row in rows.items()}
    except (ValueError, RecursionError) as error:
        raise InputFormatError(
            f"the measurements of families are damaged: {error}",
            where=store.path,
            hint="'misstep explain DIR --measure' measures again",
        ) from None
    return measured if tree.get("policy") == policy else {}


def _measured(row: Any) -> Measured:
    if not isinstance(row, dict) or row.keys() != {f.name for f in dataclasses.fields(Measured)}:
        raise ValueError("strange fields")
    asked, same, other = (row[name] for name in COUNTS)
    if any(type(row[name]) is not int for name in (*COUNTS, "seed")):
        raise ValueError("a count is not a number")
    if same < 0 or other < 0 or not same + other <= asked < 2**31:
        raise ValueError("the counts do not fit together")
    if any(type(row[name]) not in (int, float) or not 0 <= row[name] <= 1 for name in SHARES):
        raise ValueError("a share is not between 0 and 1")
    if row["low"] > row["high"] or row["worst_low"] > row["worst_high"]:
        raise ValueError("an interval is invalid")
    if row["limit"] not in (None, "time"):
        raise ValueError("an unknown limit")
    return Measured(**row)


__all__ = ["KEY", "read_measured", "write_measured"]
