"""`misstep export json`: the tables of campaigns for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.exports.shared import Folders, Force, opened_all, output, to_file


def json_command(
    folders: Folders,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Write this table; may be given several times. Default: all.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[Path | None, output("File to write. Default: standard output.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write the tables of campaigns as one JSON object.

    Tables: records, summary, metrics, oracles, coverage, severity, over-time. Without a file, --json changes nothing.

    Example: misstep export json before after --table metrics -o metrics.json
    """
    with opened_all(folders, quiet=target is None) as campaigns:
        from misstep.reports.exports.json_file import write_json
        from misstep.reports.exports.tables import sources

        given = sources(campaigns)
        return to_file(
            target,
            lambda file: write_json(given, file, tables or None),
            force=force,
            as_json=as_json and target is not None,
        )
