"""`misstep export figure`: figures for papers and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.exports.shared import Force, opened_all, output, said
from misstep.errors import UsageError


def figure_command(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR... FIGURE",
            help="Folders of campaigns, then over-time, severity or depth.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path | None, output("File to write, .svg or .pdf. Default: ./FIGURE.svg.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Draw the bugs over time, their severity, or the depth where they were found, as SVG or PDF.

    Each campaign has its own curve or bars. If there is only one campaign, each of its oracles has a curve.

    Example: misstep export figure before after over-time -o bugs.pdf
    """
    *folders, name = given
    if not folders:
        raise UsageError(
            "a folder and a figure are needed", expected="DIR over-time, DIR severity or DIR depth"
        )
    with opened_all([Path(folder) for folder in folders]) as campaigns:
        from misstep.reports.exports.tables import sources
        from misstep.reports.figures.draw import write_figure

        path = target or Path(f"{name}.svg")
        return said(write_figure(name, sources(campaigns), path, force=force), as_json)
