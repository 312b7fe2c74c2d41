"""Tables as CSV, for spreadsheets and scripts.

A spreadsheet treats a cell that begins with `=`, `+`, `-` or `@` as a formula and runs it. Names are untrusted, so such
a text gets an apostrophe in front, which spreadsheets do not show. Numbers stay numbers.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from typing import TextIO

from misstep.escaping import written_out
from misstep.reports.exports.tables import Cell, Table

# The usual ones, and the wide forms that some spreadsheets take for the same.
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")


def write_csv(table: Table, file: TextIO) -> int:
    """Write titles and rows; returns the number of rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    count = 0
    for row in table.rows:
        writer.writerow([guarded(cell) for cell in row])
        count += 1
    return count


def guarded(cell: Cell) -> Cell:
    """The cell as it may be opened in a spreadsheet: on one line, and never a formula."""
    if isinstance(cell, str):
        return _guarded_text(cell)
    if isinstance(cell, float):
        return round(cell, 6)  # seconds: nobody measures less than a microsecond
    return cell


@lru_cache(maxsize=4096)
def _guarded_text(cell: str) -> str:
    # Most cells of a large table are a few words that come again and again.
    text = written_out(cell)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA else text


__all__ = ["guarded", "write_csv"]
