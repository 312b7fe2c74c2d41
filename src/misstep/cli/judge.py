"""`misstep judge`: let another oracle judge the states of a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from time import monotonic
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson, GivenPolicy, TrustPolicy
from misstep.cli.campaigns import Folder, exit_code, keeping, open_folder, print_summary
from misstep.cli.groups import Group, takes
from misstep.cli.progress import campaign_progress
from misstep.cli.testing_options import Spending


@dataclass(frozen=True)
class Request(Group, heading="What to judge"):
    folder: Folder
    oracle: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="The oracle. 'misstep list' names all; p22, p23 and p24 are the oracles of the papers.",
            show_default=False,
        ),
    ]
    policy: GivenPolicy = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    as_json: AsJson = False


@takes(Request, Spending, Output)
def judge_command(
    context: typer.Context,  # noqa: ARG001
    request: Request,
    spending: Spending,
    output: Output,
) -> int:
    """Judge the states of a campaign by another oracle, and keep its verdicts beside the others.

    The policy is not run again. Each record then has the best verdict; the summary counts what each oracle has
    proven. Exit codes are those of 'misstep test'.

    Example: misstep judge found --oracle exact
    """
    began = monotonic()
    spending.check()
    again = f"misstep judge {quote(str(request.folder))} --oracle {quote(request.oracle)}"
    subject = open_folder(request.folder, request.policy, request.trust_policy)
    with subject as campaign, keeping(request.folder, again):
        limits = spending.limits()
        with campaign_progress() as progress:
            campaign.judge(
                request.oracle,
                jobs=spending.jobs,
                batch_size=spending.batch_size,
                limits=limits,
                cluster=spending.cluster,
                progress=progress,
            )
        summary = campaign.summary
    print_summary(summary, monotonic() - began, output.as_json)
    return exit_code(summary)
