"""Families of bugs for the page: those of the campaign with their sentences, each with the rows of its bugs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from misstep.campaigns.campaign import Campaign
from misstep.comparison.families.family import Family
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.columns import Columns

MOST_BUGS = (
    10_000  # looking for conditions takes half a millisecond a bug; beyond, the signature has to do
)


def add_families(chunks: Chunks, prefix: str, campaign: Campaign, columns: Columns) -> list[Any]:
    """Describe the families; the rows of their bugs become one list of numbers."""
    bugs = int(columns.is_word("verdict", "BUG").sum())
    if bugs <= MOST_BUGS:
        described, rows = _described(campaign.families, columns)
    else:
        described, rows = _by_signature(columns)
    first = 0
    for family, own in zip(described, rows, strict=True):
        family |= {"first": first, "count": len(own)} | _worst(columns, own)
        first += len(own)
    joined = np.concatenate(rows) if rows else np.zeros(0)
    chunks.add_array(f"{prefix}.families", joined.astype("u4"))
    return described


def _described(known: Sequence[Family], columns: Columns) -> tuple[list[dict[str, Any]], list[Any]]:
    rows = columns.rows_by_id()
    described = [
        {
            "signature": family.signature,
            "sentence": family.sentence,
            "measured": None if family.measured is None else str(family.measured),
            "remainder": family.remainder,
        }
        for family in known
    ]
    return described, [
        np.array(sorted(rows[own] for own in family.records if own in rows), dtype=np.uint32)
        for family in known
    ]


def _by_signature(columns: Columns) -> tuple[list[dict[str, Any]], list[Any]]:
    """Families by signature alone, if conditions were not looked for."""
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
            "remainder": True,
            "measured": "a report with this many bugs does not look for conditions; misstep explain does",
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
