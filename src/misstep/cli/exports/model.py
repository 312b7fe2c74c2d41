"""`misstep export model`: write a model that starts in a recorded state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import Folder
from misstep.cli.exports.shared import Force, Id, opened, output, said
from misstep.cli.output import remark


def model_command(
    folder: Folder,
    bug: Id,
    target: Annotated[Path | None, output("File to write. Default: ./TASK-NUMBER.jani.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write a JANI model that starts in the state of a record, in one file.

    Example: misstep export model found line:0 -o bug.jani
    """
    with opened(folder) as campaign:
        from misstep.reports.exports.bug import load_options, write_model

        paths = write_model(campaign, bug, target, force=force)
        options = load_options(campaign, bug)
    for name, value in options.items():
        remark(f"load it with {name}={value!r}: a JANI file cannot store that")
    return said(paths, as_json, {"options": options})
