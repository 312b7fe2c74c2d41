"""`misstep export baseline`: the known bugs, which a gate compares with, in one small file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import Folder
from misstep.cli.exports.shared import opened, output, said


def baseline_command(
    folder: Folder,
    target: Annotated[
        Path, output("File to write. An older baseline is replaced; any other file is not.")
    ],
    as_json: AsJson = False,
) -> int:
    """Write the bugs of a campaign as a baseline, with which later runs are compared.

    Example: misstep export baseline found -o baseline.json
    """
    with opened(folder) as campaign:
        from misstep.reports.exports.baseline import write_baseline

        return said([write_baseline(campaign, target)], as_json)
