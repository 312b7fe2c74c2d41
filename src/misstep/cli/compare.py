"""`misstep compare`: campaigns side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.campaigns import open_folder
from misstep.cli.output import columns, print_json, waiting
from misstep.errors import UsageError


def compare_command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR DIR...",
            help="The folders of campaigns, two or more. Changes are told from the first to each other one.",
            show_default=False,
        ),
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What to call a campaign, once for each. Default: the names of the folders.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare campaigns: counts with exact intervals, what became of common states, families, paired tests.

    Only records are read, nothing runs. The heading names what differs: policy, version, bias, oracle, seed. States
    are joined by the content of their task and their values; misstep test --pool-from DIR tests the same states.

    Example: misstep compare before after
    """
    if len(folders) < 2:
        raise UsageError("one campaign to compare", expected="two or more folders")
    from misstep.comparison.compare import compare
    from misstep.comparison.words import in_words

    campaigns = [open_folder(folder) for folder in folders]
    try:
        with waiting("reading records"):
            found = compare(*campaigns, labels=label or None)
            shown = found.as_dict() if as_json else in_words(found, columns(sys.stdout))
    finally:
        for campaign in campaigns:
            campaign.close()
    if isinstance(shown, dict):
        print_json(shown)
    else:
        print(shown)
    return 0
