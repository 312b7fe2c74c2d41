"""What all verbs share of talking to the user: JSON, tables, remarks, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

T = TypeVar("T")

# Work below this many seconds shows no progress.
QUIET_SECONDS = 1.0


def print_json(result: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(result) + "\n")


def remark(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Names and values, aligned."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        print(f"{name:<{width}}  {'-' if value is None else shown}")


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Columns under titles; the first `left` ones aligned to the left, the others, numbers, to the right."""
    table = Table(box=None, pad_edge=False, header_style="")
    for k, title in enumerate(titles):
        table.add_column(title, justify="left" if k < left else "right", no_wrap=k >= left)
    for row in rows:
        table.add_row(*row)
    # Off a terminal rich assumes 80 columns and would cut what a script wants to read.
    Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False).print(table)


def tracked(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    """The items, with a bar on standard error once they have taken a moment."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    row = bar.add_task(title, total=total)
    began = monotonic()
    try:
        for item in items:
            waited = monotonic() - began > QUIET_SECONDS
            if waited and bar.console.is_terminal and not bar.live.is_started:
                bar.start()
            bar.advance(row)
            yield item
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def search_progress(title: str, unit: str = "states expanded") -> Iterator[Callable[..., None]]:
    """A progress line on standard error for native work of unknown length; yields its callback."""
    console = Console(stderr=True)
    started = monotonic()
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    row = bar.add_task(title, total=None, detail="")

    def update(expansions: int, evaluations: int, _: int, used: int, __: float) -> None:
        if not bar.live.is_started:
            if not console.is_terminal or monotonic() - started < QUIET_SECONDS:
                return
            bar.start()
        rate = expansions / max(monotonic() - started, 1e-9)
        detail = f"{expansions:,} {unit}, {rate:,.0f}/s"
        if used:
            detail += f", {used / 2**20:,.0f} MB"
        if evaluations:
            detail += f", {evaluations:,} evaluated"
        bar.update(row, detail=detail)

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()
