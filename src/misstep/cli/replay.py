"""`misstep replay`: check the records of a campaign again, from its files alone or with the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json, remark, tracked
from misstep.errors import InputFormatError


def replay_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign.")],
    with_policy: Annotated[
        bool,
        typer.Option(
            "--rerun", help="Also run the policy again and compare with its recorded runs."
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Replay every run and every witness of a campaign with the independent checker."""
    from misstep.campaigns.store import open_store

    with open_store(folder, readonly=True) as store:
        for text in store.remarks:
            remark(text)
        from misstep.cli.jani_test import is_safety

        if is_safety(store):
            from misstep.campaigns.safety_replay import replay_safety

            total = store.rows("SELECT (SELECT count(*) FROM paths) + count(*) FROM decided")
            found = replay_safety(store, with_policy=with_policy)
            results = list(tracked(found, "checking", int(total[0][0])))
            checked = len(results)
        else:
            from misstep.campaigns.replay import replay, rerun

            count = sum(store.last_unit(name).tested for name in store.task_names())
            results = list(tracked(replay(store), "checking", count))
            checked = len(results)
            if with_policy:
                results += tracked(rerun(store), "running the policy again", count)
    wrong = [
        {"task": task, "index": index, "reason": reason}
        for task, index, reason in results
        if reason is not None
    ]
    if as_json:
        print_json({"checked": checked, "rerun": with_policy, "wrong": wrong})
    else:
        for row in wrong:
            print(f"{row['task']} {row['index']}: {row['reason']}")
        again = ", policy run again" if with_policy else ""
        print(f"{checked} records checked{again}, {len(wrong)} do not hold")
    return InputFormatError.exit_code if wrong else 0
