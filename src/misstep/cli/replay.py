"""`misstep replay`: check the records of a campaign again, from its files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.campaigns.replay import replay
from misstep.campaigns.store import open_store
from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json
from misstep.errors import InputFormatError


def replay_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign.")],
    as_json: AsJson = False,
) -> int:
    """Replay every run and every witness of a campaign with the independent checker."""
    with open_store(folder, readonly=True) as store:
        results = list(replay(store))
    wrong = [
        {"task": task, "index": index, "reason": reason}
        for task, index, reason in results
        if reason is not None
    ]
    if as_json:
        print_json({"checked": len(results), "wrong": wrong})
    else:
        for row in wrong:
            print(f"{row['task']} {row['index']}: {row['reason']}")
        print(f"{len(results)} records checked, {len(wrong)} do not hold")
    return InputFormatError.exit_code if wrong else 0
