"""`misstep export problem`: write a planning problem that starts in a recorded state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import Folder
from misstep.cli.exports.shared import Force, Id, opened, output, said


def problem_command(
    folder: Folder,
    bug: Id,
    target: Annotated[
        Path | None,
        output(
            "File to write, with domain.pddl beside it. Default: ./TASK-NUMBER/problem.pddl, or ./TASK-NUMBER.sas."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write a state as a PDDL problem that starts there, with its domain; for a SAS task, as a SAS file.

    Example: misstep export problem found gripper:3 -o bug/problem.pddl
    """
    with opened(folder) as campaign:
        from misstep.reports.exports.bug import write_problem

        return said(write_problem(campaign, bug, target, force=force), as_json)
