"""Encodes rows for their tables, in the core.

A campaign stores a handful of rows for each record, and Python takes longer to check their values and to write their
lists as JSON than SQLite takes to store them. So the core does this for rows whose values have plain types, which are
nearly all. Other rows are left to `encoded` of the row, which also makes the error messages. Both write the same, and
the tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from misstep.campaigns.rows import (
    KINDS,
    MOST_LETTERS,
    OUTCOMES,
    VERDICTS,
    FaultRow,
    PermittedRow,
    RunRow,
    StateRow,
    VerdictRow,
    to_json,
)

# How the core checks and writes the columns of a row, as `encoded` does. A row with a value of another type is left to
# `encoded`. A capital letter also allows None.
#
#     n, o   a count (o: or None)              w   one of the words
#     m      a count or -1                     k   one of the words if the column before says BUG, else None
#     r      None, or a count below that in    b   a truth value
#            the first column                  j, J   a list of numbers
#     h      None, or a count that is not      L   a list of such lists
#            below the column before           c   None, or what the function makes of the value
#     s, S   seconds                           t, T   a name; a text of limited length
PlainRow = StateRow | RunRow | VerdictRow | FaultRow
_Means = frozenset[str] | Callable[..., str]  # the words, or the function
_KINDS: dict[type[PlainRow], tuple[str, dict[int, _Means]]] = {
    StateRow: ("njrjnnns", {}),
    RunRow: ("nwojLoTsc", {1: frozenset(OUTCOMES), 8: PermittedRow.encoded}),
    VerdictRow: (
        "ntmwkohohTJcoonnss",
        {3: frozenset(VERDICTS), 4: frozenset(KINDS), 11: to_json},
    ),
    FaultRow: ("nnjooohSbJ", {}),
}
_COLUMNS: dict[type[PlainRow], tuple[str, tuple[_Means | None, ...]]] = {
    row: (kinds, tuple(means.get(place) for place in range(len(kinds))))
    for row, (kinds, means) in _KINDS.items()
}


def encoded_rows(task: int, rows: Iterable[PlainRow]) -> list[tuple[Any, ...]]:
    """Rows of one kind as stored in their table, the task first: the same as `encoded`, but many times as fast."""
    from misstep import _core  # imported here: it takes long to load, and readers do not need it

    own = list(rows)
    if not own:
        return []
    found = _core.encode_rows(task, own, *_COLUMNS[type(own[0])], MOST_LETTERS)
    return [fast or (task, *row.encoded()) for row, fast in zip(own, found, strict=True)]


__all__ = ["PlainRow", "encoded_rows"]
