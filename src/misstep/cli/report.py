"""`misstep report`: write the results of campaigns as one HTML file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import open_folder
from misstep.cli.output import phase_progress, print_json, remark
from misstep.errors import UsageError


def report_command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="The folder of a campaign; several ones are compared.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write. An older report is replaced; any other file is not.",
        ),
    ] = Path("report.html"),
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME",
            help="What the report calls a campaign; once for each folder. Default: the names of the folders.",
            show_default=False,
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the report in the browser when it is written.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the file whatever it is.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write what campaigns found as one HTML file that works offline, with every bug to step through.

    No policy is run, and the page loads nothing from the network. A campaign that is still running is shown as far as
    it has got.

    Example: misstep report before after -o report.html --open
    """
    if label and len(label) != len(folders):
        raise UsageError(
            f"{len(label)} labels for {len(folders)} folders",
            expected="one --label for each folder",
        )
    with ExitStack() as opened, phase_progress() as progress:
        progress("opening campaigns", 0, len(folders))
        campaigns = [opened.enter_context(open_folder(folder)) for folder in folders]
        from misstep.reports.html.write import write_report

        file = write_report(campaigns, output, labels=label, force=force, progress=progress)
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, "campaigns": len(folders)})
    else:
        print(f"{file} ({size / 1e6:.1f} MB)")
    if open_page:
        _open(file)
    return 0


def _open(file: Path) -> None:
    """Show the file. A missing browser is not an error, because the report is written anyway."""
    import webbrowser

    try:
        shown = webbrowser.open(file.resolve().as_uri())
    except (webbrowser.Error, OSError):
        shown = False
    if not shown:
        remark("no browser could be started (--open); open the file by hand")
