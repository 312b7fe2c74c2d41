"""Tables of campaigns as one JSON object; rows are written as they are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from misstep.reports.exports.tables import TABLES, Source, table

FORMAT, VERSION = "misstep-export", 1


def write_json(given: Sequence[Source], file: TextIO, names: Sequence[str] | None = None) -> int:
    """Write the tables of these names, by default all; returns the number of rows."""
    for name in names or ():
        if name not in TABLES:
            table(name, given)  # says what is wrong, before anything is written
    campaigns = [
        {
            "label": source.label,
            "folder": None if source.campaign.folder is None else str(source.campaign.folder),
            "summary": source.summary.as_dict(),
        }
        for source in given
    ]
    head = {"format": FORMAT, "version": VERSION, "campaigns": campaigns}
    file.write(json.dumps(head)[:-1] + ', "tables": {')
    count = 0
    for place, name in enumerate(TABLES if names is None else names):
        own = table(name, given)
        file.write(f"{', ' if place else ''}{json.dumps(own.name)}: [")
        for number, row in enumerate(own.rows):
            cells = json.dumps(dict(zip(own.columns, row, strict=True)))
            file.write(f"{',' if number else ''}\n{cells}")
            count += 1
        file.write("]")
    file.write("}}\n")
    return count


__all__ = ["write_json"]
