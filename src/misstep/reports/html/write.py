"""Writing a report: from campaigns to one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.errors import InputFileError, UsageError
from misstep.files import reason, write_bytes
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.collect import Collected, Progress
from misstep.reports.html.comparing import add_comparison
from misstep.reports.html.page import MARK, page
from misstep.reports.html.pictures import Album

StrPath = str | os.PathLike[str]


def write_report(
    campaigns: Sequence[Campaign],
    path: StrPath,
    *,
    labels: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a report on the campaigns as one HTML file. It replaces an older report, but no other file."""
    file = Path(path)
    if not campaigns:
        raise UsageError("there is no campaign to report on", expected="at least one campaign")
    if not file.absolute().parent.is_dir():  # before records are read for a minute
        raise InputFileError(
            "the report cannot be written there",
            where=str(file),
            expected="a file in a folder that exists",
        )
    if not force:
        _refuse_others(file)
    content = make_report(campaigns, labels=labels, progress=progress)
    write_bytes(file, content)
    return file


def make_report(
    campaigns: Sequence[Campaign],
    *,
    labels: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> bytes:
    """The report as the bytes of a file."""
    chunks, album = Chunks(), Album()
    names = list(labels) if labels is not None else _labels(campaigns)
    sides, described = [], []
    for number, campaign in enumerate(campaigns):
        with campaign.reading_once():
            sides.append(Collected(campaign, names[number], number))
            described.append(sides[-1].add_to(chunks, album, progress))
    head: dict[str, Any] = {
        "version": version("misstep"),
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "campaigns": described,
        "comparison": add_comparison(chunks, sides),
        "pictures": album.add_to(chunks),
    }
    chunks.add_json("head", head)
    title = f"{names[0]}: misstep report" if len(names) == 1 else "misstep report: comparison"
    said = " ".join(f"{side['label']}: {side['sentence']}" for side in described)
    return b"".join(page(title, chunks, said))


def _labels(campaigns: Sequence[Campaign]) -> list[str]:
    """The names of the folders, made different by counting."""
    names: list[str] = []
    for campaign in campaigns:
        folder = campaign.folder
        name = "campaign" if folder is None else folder.resolve().name or "campaign"
        again = sum(own == name or own.startswith(f"{name} (") for own in names)
        names.append(f"{name} ({again + 1})" if again else name)
    return names


def _refuse_others(file: Path) -> None:
    """Raise an error if the file exists and is not a report of Misstep."""
    try:
        if not file.exists():
            return
        if file.is_dir():
            raise InputFileError("this is a folder", where=str(file), expected="a file to write to")
        if not file.is_file():
            raise InputFileError(
                "this is not a regular file", where=str(file), expected="a file to write to"
            )
        with file.open("rb") as content:
            ours = content.read(len(MARK)) == MARK
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(file)) from error
    if not ours:
        raise UsageError(
            "this file is not a report of Misstep, so it is not overwritten",
            where=str(file),
            expected="the name of a new file, or of an older report",
            hint="--force overwrites it",
        )


__all__ = ["make_report", "write_report"]
