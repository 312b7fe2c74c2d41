"""`misstep records`: what a campaign found, state by state."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.output import print_json, print_table, remark
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.campaigns.records import TestedState


def records_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a campaign.", show_default=False)
    ],
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="VERDICT", help="Only these: BUG, OPTIMAL (of a model: NOT A BUG) or UNKNOWN."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the states of this task.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line for each tested state.")
    ] = False,
) -> int:
    """Print the tested states of a campaign, by task and in the order of the pool; also while it is running."""
    from misstep.campaigns.records import VERDICTS
    from misstep.campaigns.store import open_store

    wanted = verdict and verdict.upper()
    with open_store(folder, readonly=True) as store:
        for text in store.remarks:
            remark(text)
        from misstep.cli.jani_test import is_safety

        if is_safety(store):
            from misstep.cli.jani_records import print_safety_records

            print_safety_records(store, wanted, as_json)
            return 0
        if wanted and wanted not in VERDICTS:
            raise UsageError(f"no verdict {verdict!r}", expected=", ".join(VERDICTS))
        states = (s for s in store.tested(task) if wanted in (None, s.verdict))
        if as_json:
            for state in states:
                print_json(state.as_dict())
        else:
            _print_table(states)
    return 0


def _print_table(states: Iterable[TestedState]) -> None:
    print_table(
        ["task", "verdict", "kind", "oracle", "state", "cost", "bounds", "gap", "seconds"],
        [
            (
                state.task,
                state.verdict,
                state.kind or "-",
                state.oracle or "-",
                str(state.index),
                state.outcome if state.policy_cost is None else str(state.policy_cost),
                _interval(state.lower_bound, state.upper_bound),
                _interval(*state.gap),
                f"{state.seconds:.3f}",
            )
            for state in states
        ],
        left=4,
    )


def _interval(low: int | None, high: int | None) -> str:
    shown = ["inf" if bound is None else str(bound) for bound in (low, high)]
    return shown[0] if low == high else "..".join(shown)
