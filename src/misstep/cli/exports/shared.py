"""What the verbs of `misstep export` share: arguments, opening the campaign, and the report of written files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from misstep.cli.campaigns import is_finished, open_folder
from misstep.cli.output import print_json, remark, waiting
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign

Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="The id of a record, such as gripper:3.", show_default=False),
]
Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR...", help="Folders of campaigns.", show_default=False),
]
TableName = Annotated[
    str, typer.Option("--table", metavar="NAME", help="The table to write; see above.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that differs.")]


def output(help: str, metavar: str = "FILE") -> Any:
    """The option -o with its help."""
    return typer.Option("-o", "--output", metavar=metavar, help=help, show_default=False)


def _opened(folder: Path) -> Campaign:
    """Open the campaign, with a note if it is not finished, because the export is then incomplete."""
    campaign = open_folder(folder)
    if not is_finished(folder):
        remark(
            f"{folder}: the campaign is not finished; only what it has found so far can be exported"
        )
    return campaign


@contextmanager
def opened_all(folders: Sequence[Path], *, quiet: bool = False) -> Iterator[list[Campaign]]:
    """Open the campaigns of several folders, with progress on a terminal.

    `quiet`: the work prints something itself, so a line would be in its way if both go to a terminal.
    """
    with ExitStack() as stack:
        campaigns = [stack.enter_context(_opened(folder)) for folder in folders]
        stack.enter_context(waiting("exporting", not (quiet and sys.stdout.isatty())))
        yield campaigns


@contextmanager
def opened(folder: Path, *, quiet: bool = False) -> Iterator[Campaign]:
    """Open the campaign of one folder in the same way."""
    with opened_all([folder], quiet=quiet) as (campaign,):
        yield campaign


def to_file(
    path: Path | None, write: Callable[[TextIO], int], *, force: bool, as_json: bool
) -> int:
    """Write rows to a file, or to standard output if no file is named."""
    if path is None:
        if as_json:
            raise UsageError("--json lists the files that were written", expected="-o FILE with it")
        rows = write(sys.stdout)
    else:
        from misstep.reports.exports.files import new_file

        with new_file(path, force=force) as file:
            rows = write(file)
        said([path], as_json, {"rows": rows})
    if not rows:
        remark("there are no rows: the table is empty")
    return 0


def said(paths: Iterable[Path], as_json: bool, more: Mapping[str, Any] | None = None) -> int:
    """Print which files were written."""
    names = [str(path) for path in paths]
    if as_json:
        print_json({"written": names, **(more or {})})
    else:
        print(*names, sep="\n")
    return 0


__all__ = [
    "Folders",
    "Force",
    "Id",
    "TableName",
    "opened",
    "opened_all",
    "output",
    "said",
    "to_file",
]
