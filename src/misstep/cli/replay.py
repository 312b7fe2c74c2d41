"""`misstep replay`: check the records of a campaign again, from its files alone or by running the policy."""

from __future__ import annotations

from typing import Annotated

import typer

from misstep.cli.arguments import AsJson, TrustPolicy
from misstep.cli.campaigns import Folder, open_folder
from misstep.cli.output import phase_progress, print_json, say
from misstep.errors import ReplayError


def replay_command(
    folder: Folder,
    rerun: Annotated[
        bool,
        typer.Option(
            "--rerun", help="Also run the policy again and compare with its recorded runs."
        ),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="Run this policy (the policy of the campaign, or a new version of it) and compare.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Also recompute values that have no witness: lower bounds, dominance functions, risks, losses.",
        ),
    ] = False,
    trust_policy: TrustPolicy = False,
    as_json: AsJson = False,
) -> int:
    """Replay every run and every witness of a campaign with the independent checker.

    It says what was checked and what cannot be checked. Exit code 35 if something does not hold.

    Example: misstep replay found --rerun
    """
    with open_folder(folder, trust_policy=trust_policy) as campaign, phase_progress() as progress:
        found = campaign.replay(policy, rerun=rerun, full=full, progress=progress)
    if as_json:
        print_json(found.as_dict())
    else:
        say(found)
    return 0 if found.ok else ReplayError.exit_code
