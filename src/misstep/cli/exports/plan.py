"""`misstep export plan`: a witness, or the policy's run, as a plan file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import Folder
from misstep.cli.exports.shared import Force, Id, opened, output, said
from misstep.cli.output import print_json


def plan_command(
    folder: Folder,
    bug: Id,
    policy_run: Annotated[
        bool, typer.Option("--policy-run", help="Write the policy's run instead of the witness.")
    ] = False,
    target: Annotated[Path | None, output("File to write. Default: standard output.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Write the plan that proves a bug in the format of the planning competitions.

    Example: misstep export plan found gripper:3 -o witness.plan
    """
    with opened(folder, quiet=target is None) as campaign:
        from misstep.reports.exports.bug import plan_text, write_plan

        if target is not None:
            paths = write_plan(campaign, bug, target, policy_run=policy_run, force=force)
            return said(paths, as_json)
        text = plan_text(campaign, bug, policy_run=policy_run)
    if as_json:
        print_json({"plan": text})
    else:
        print(text, end="")
    return 0
