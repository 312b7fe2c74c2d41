"""`misstep export csv`: tables for spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from misstep.cli.arguments import AsJson
from misstep.cli.exports.shared import Folders, Force, TableName, opened_all, output, to_file


def csv_command(
    folders: Folders,
    table: TableName = "records",
    target: Annotated[Path | None, output("File to write. Default: standard output.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write a table of records or of the papers' numbers as CSV.

    Tables: records, summary, metrics, oracles, coverage, severity, over-time. Texts that a spreadsheet would take for
    a formula get an apostrophe in front.

    Example: misstep export csv found -o records.csv
    """
    with opened_all(folders, quiet=target is None) as campaigns:
        from misstep.reports.exports.spreadsheet import write_csv
        from misstep.reports.exports.tables import sources
        from misstep.reports.exports.tables import table as table_of

        own = table_of(table, sources(campaigns))
        return to_file(target, lambda file: write_csv(own, file), force=force, as_json=as_json)
