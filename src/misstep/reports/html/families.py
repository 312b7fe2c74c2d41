"""Families of bugs for the page: those of the campaign with their sentences, each with the rows of its bugs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from misstep.campaigns.campaign import Campaign
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.columns import Columns

FAMILIES = "families"
MOST_BUGS = 2000  # looking for conditions takes milliseconds a bug; beyond, the signature has to do


class Described(Protocol):
    """What the page shows of a family."""

    @property
    def signature(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def records(self) -> Sequence[str]: ...
    @property
    def measured(self) -> object | None: ...


def add_families(chunks: Chunks, prefix: str, campaign: Campaign, columns: Columns) -> list[Any]:
    """Describe the families; the rows of their bugs become one list of numbers."""
    bugs = int(columns.is_word("verdict", "BUG").sum())
    # Asked of the class: an error inside the property must not look as if it were not there.
    if bugs <= MOST_BUGS and hasattr(type(campaign), FAMILIES):
        described, rows = _described(getattr(campaign, FAMILIES), columns)
    else:
        described, rows = _by_signature(columns, many=bugs > MOST_BUGS)
    first = 0
    for family, own in zip(described, rows, strict=True):
        family |= {"first": first, "count": len(own)} | _worst(columns, own)
        first += len(own)
    joined = np.concatenate(rows) if rows else np.zeros(0)
    chunks.add_array(f"{prefix}.families", joined.astype("u4"))
    return described


def _described(
    known: Sequence[Described], columns: Columns
) -> tuple[list[dict[str, Any]], list[Any]]:
    rows = columns.rows_by_id()
    described = [
        {
            "signature": family.signature,
            "sentence": family.sentence,
            "measured": None if family.measured is None else str(family.measured),
        }
        for family in known
    ]
    return described, [
        np.array(sorted(rows[own] for own in family.records if own in rows), dtype=np.uint32)
        for family in known
    ]


def _by_signature(columns: Columns, many: bool) -> tuple[list[dict[str, Any]], list[Any]]:
    """Where nobody has looked for conditions: the signature alone."""
    places = columns.place("signature")
    found = []
    for place, word in enumerate(columns.words["signature"].all):
        rows = np.flatnonzero(places == place)
        if word is not None and len(rows):
            found.append((word, rows))
    found.sort(key=lambda own: -len(own[1]))
    described: list[dict[str, Any]] = [
        {
            "signature": word,
            "sentence": f"chooses {word}",
            "measured": "conditions and precision are not looked for in a report of so many bugs"
            if many
            else None,
        }
        for word, _ in found
    ]
    return described, [rows for _, rows in found]


def _worst(columns: Columns, rows: Any) -> dict[str, Any]:
    """The largest proven gap, how many bugs lose infinitely much, and the row of the worst bug."""
    low = columns.number("low")[rows]
    if not len(low):
        return {"worst": None, "failing": 0, "example": None, "tasks": 0}
    finite = low[np.isfinite(low)]
    return {
        "worst": float(finite.max()) if len(finite) else None,
        "failing": int(np.isinf(low).sum()),
        "example": int(rows[int(np.argmax(low))]),
        "tasks": len(set(columns.place("task")[rows].tolist())),
    }


__all__ = ["add_families"]
