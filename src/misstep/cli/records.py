"""`misstep records`: what a campaign found, state by state."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.campaigns import Folder, open_folder
from misstep.cli.output import counting, print_json, print_json_text, print_table, waiting
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.campaigns.records import Interval, Record

TITLES = ("id", "verdict", "kind", "found by", "run", "steps")
OF_TASKS = ("cost", "bounds", "gap")
OF_MODELS = ("radius",)
LAST = ("faults", "seconds")

REPORTED = 100  # records from one report of progress to the next
UNSOLVABLE = "UNSOLVABLE"  # among the OPTIMAL ones


def records_command(
    folder: Folder,
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="VERDICT",
            help="Only these: BUG, OPTIMAL (of a model: NOT A BUG), UNSOLVABLE (states without a plan), UNKNOWN or "
            "FLAKY.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Only bugs of this kind: fails, costly, unsafe or unclassified."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the states of this task or model.")
    ] = None,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics",
            help="Instead of states, the numbers of the papers: recall, severity, coverage.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line for each tested state.")
    ] = False,
) -> int:
    """Print the tested states of a campaign, by task and in the order of the pool; also while it is running.

    Example: misstep records found --verdict BUG
    """
    with open_folder(folder) as campaign:
        from misstep.campaigns.records import KINDS, VERDICTS

        if metrics:
            with waiting("reading records"):
                found = campaign.metrics()
            _print_metrics(found, as_json)
            return 0

        words = (*VERDICTS, UNSOLVABLE)
        wanted = _one_of("--verdict", verdict, words)
        wanted_kind = _one_of("--kind", kind, KINDS)
        chosen = _awaited(
            record
            for record in _counted(campaign.iter_records(task, brief=not as_json))
            if wanted in (None, UNSOLVABLE if record.is_unsolvable else record.verdict)
            and wanted_kind in (None, record.kind)
        )
        if as_json:
            from misstep.campaigns.lines import RecordLines

            lines = RecordLines()
            for record in chosen:
                print_json_text(lines.line(record))
        else:
            _print_table(chosen, campaign.settings.model is not None)
    return 0


def _counted(records: Iterator[Record]) -> Iterator[Record]:
    """The records, with a line of progress on the terminal if they are not printed there themselves."""
    if sys.stdout.isatty():
        yield from records
        return
    with counting("reading records", "records") as report:
        for number, record in enumerate(records):
            if number % REPORTED == 0:
                report(number)
            yield record


def _awaited(records: Iterator[Record]) -> Iterator[Record]:
    """The records, with a line of progress until the first one is found."""
    with waiting("reading records", sys.stdout.isatty()):
        first = list(islice(records, 1))
    yield from chain(first, records)


def _print_metrics(metrics: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(metrics)
    else:
        print(json.dumps(metrics, indent=2))


def _one_of(option: str, value: str | None, choices: tuple[str, ...]) -> str | None:
    """The choice that is meant, in small or capital letters."""
    if value is None:
        return None
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise UsageError(f"{option} is {value!r}", expected=", ".join(choices))


def _print_table(records: Iterable[Record], of_model: bool) -> None:
    """A table with the columns that have a meaning in this world."""
    print_table(
        (*TITLES, *(OF_MODELS if of_model else OF_TASKS), *LAST),
        (
            (
                record.id,
                record.verdict,
                record.kind or "-",
                record.source or "-",
                record.run.outcome,
                str(len(record.run.operators)),
                *(_of_model(record) if of_model else _of_task(record)),
                "-" if record.faults is None else str(len(record.faults)),
                f"{record.times.judge:.3f}",
            )
            for record in records
        ),
        left=5,
    )


def _of_task(record: Record) -> tuple[str, str, str]:
    cost = "-" if record.run.cost is None else str(record.run.cost)
    return cost, _interval(record.bounds), _interval(record.gap)


def _of_model(record: Record) -> tuple[str]:
    return (_interval(record.radius),)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    low, high = ("inf" if bound is None else str(bound) for bound in interval)
    return low if low == high else f"{low}..{high}"
