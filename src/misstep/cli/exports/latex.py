"""`misstep export latex`: tables for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TextIO

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.exports.shared import Folders, Force, TableName, opened_all, output, to_file


def latex_command(
    folders: Folders,
    table: TableName = "metrics",
    fragment: Annotated[
        bool,
        typer.Option("--fragment", help="The table alone, for \\input; default: a whole document."),
    ] = False,
    booktabs: Annotated[
        bool, typer.Option("--booktabs", help="Use the rules of the package booktabs.")
    ] = False,
    target: Annotated[Path | None, output("File to write. Default: standard output.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write a table of the papers' numbers, or of records, as LaTeX.

    Tables: records, summary, metrics, oracles, coverage, severity, over-time.

    Example: misstep export latex before after --table summary -o table.tex
    """
    with opened_all(folders, quiet=target is None) as campaigns:
        from misstep.reports.exports.latex import latex_text
        from misstep.reports.exports.tables import sources
        from misstep.reports.exports.tables import table as table_of

        own = table_of(table, sources(campaigns))

        def write(file: TextIO) -> int:
            text, rows = latex_text(own, fragment=fragment, booktabs=booktabs)
            file.write(text)
            return rows

        return to_file(target, write, force=force, as_json=as_json)
