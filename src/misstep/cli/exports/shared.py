"""What the verbs of `misstep export` share: arguments, the campaign with a word on its state, and their result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.campaigns import open_folder
from misstep.cli.output import print_json, remark

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of a record, such as gripper:3.", show_default=False
    ),
]
Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR...", help="Folders of campaigns.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that differs.")]


def output(help: str, metavar: str = "FILE") -> Any:
    """The option -o with its help."""
    return typer.Option("-o", "--output", metavar=metavar, help=help, show_default=False)


def opened(folder: Path) -> Campaign:
    """The campaign; that it is not finished is said, as what is exported is then a part."""
    campaign = open_folder(folder)
    if not campaign.summary.finished:
        remark(f"{folder}: the campaign is not finished; what it has found so far is exported")
    return campaign


def said(paths: Iterable[Path], as_json: bool, more: Mapping[str, Any] | None = None) -> int:
    """Tell which files were written."""
    names = [str(path) for path in paths]
    if as_json:
        print_json({"written": names, **(more or {})})
    else:
        print(*names, sep="\n")
    return 0


__all__ = ["Folders", "Force", "Id", "opened", "output", "said"]
