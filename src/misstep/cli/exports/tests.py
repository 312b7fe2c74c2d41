"""`misstep export tests`: bugs as tests for pytest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import Folder
from misstep.cli.exports.shared import opened, output
from misstep.cli.output import print_json, remark


def export_tests_command(
    folder: Folder,
    bugs: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids of bugs. Default: all of them.", show_default=False),
    ] = None,
    target: Annotated[
        Path, output("Folder to write to, or to bring up to date; default: ./tests.", "DIR")
    ] = Path("tests"),
    as_json: AsJson = False,
) -> int:
    """Write tests for pytest that replay the bugs with the current policy, as expected failures until they are fixed.

    A second export into the folder adds new bugs, keeps those that are still there, and drops the expected failures
    that are fixed. Files that Misstep did not write, or that were changed by hand, are never overwritten.

    The tests then run with 'pytest tests', which takes the policy from the option --misstep-policy SPEC.

    Example: misstep export tests found -o tests
    """
    with opened(folder) as campaign:
        from misstep.reports.exports.regression import export_tests

        done = export_tests(campaign, target, bugs=bugs or None)
    for text in done.remarks:
        remark(text)
    if as_json:
        print_json(done.as_dict())
    else:
        print(done)
    return 0
