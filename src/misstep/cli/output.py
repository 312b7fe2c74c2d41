"""Output that all verbs share: JSON, tables, remarks, progress."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from misstep.cli.colours import STYLES, write
from misstep.cli.plain import json_text, out_of_the_way, to_json
from misstep.escaping import escaped
from misstep.fitting import fitted, paragraph

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

T = TypeVar("T")

# Work below this many seconds shows no progress.
QUIET_SECONDS = 1.0
# A line on a terminal appears earlier, because loading already takes a part of the first second. It vanishes again.
TERMINAL_QUIET_SECONDS = 0.4
# Seconds between two updates of a progress line by reports of the work.
REFRESH_SECONDS = 0.2
# The number of rows that decide how wide the columns of a table are, and the extra width of the first column, because
# later names may have longer numbers.
MEASURED = 200
STANDARD_COLUMNS = 80  # of a terminal that does not say how wide it is
GROWTH = 3


class _Output(io.FileIO):
    """Standard output or error. If its reader goes away (`misstep ... | head`), the command goes on without it.

    Its exit code is its result: a command that ended here would have to make one up.
    """

    has_reader = True

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self.has_reader = False
            nowhere = os.open(os.devnull, os.O_WRONLY)
            # The code of a policy may still print to the descriptor that ours is a duplicate of.
            for number in (1, 2):
                with suppress(OSError):  # a policy has closed it
                    if os.path.sameopenfile(number, self.fileno()):
                        os.dup2(nowhere, number)
            os.dup2(nowhere, self.fileno(), inheritable=False)
            os.close(nowhere)
            return len(data)


class _Lasting(io.BufferedWriter):
    """Cannot be closed: the code of a policy may close the standard streams, or wrap them and drop the wrapper."""

    def close(self) -> None:
        with suppress(OSError):
            self.flush()


def has_reader() -> bool:
    """Whether somebody can still read standard output, as far as we have noticed."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return not isinstance(raw, _Output) or raw.has_reader


def keep_output_clean() -> bool:
    """Make sure that standard output only carries what we write to `sys.stdout`, for the rest of the program.

    Native code of a policy may write to descriptor 1. From here on, descriptor 1 is standard error, also in child
    processes. All that we print ourselves goes to duplicates, since a policy may also close both descriptors. This is
    never undone, because C libraries flush when the program ends. Returns whether it was done.
    """
    if sys.stdout is not sys.__stdout__ or sys.stdout is None:
        return False  # it is redirected already, as in tests
    try:
        if sys.stdout.fileno() != 1:
            return False
        sys.stdout.flush()
        output, errors = out_of_the_way(1), out_of_the_way(2)
        os.dup2(2, 1)
    except (OSError, ValueError):
        return False  # one of the two is closed
    sys.stdout = _text(output, sys.stdout)
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:  # else it is redirected
        sys.stderr = _text(errors, sys.stderr)
    return True


def _text(number: int, before: TextIO) -> TextIO:
    return io.TextIOWrapper(
        _Lasting(_Output(number, "w", closefd=False)),
        encoding=before.encoding,
        errors=before.errors,
        # Python's unbuffered mode (PYTHONUNBUFFERED) buffers no lines, but writes everything through.
        line_buffering=bool(before.line_buffering or getattr(before, "write_through", False)),
    )


def print_json(result: Mapping[str, Any]) -> None:
    sys.stdout.write(to_json(result) + "\n")


def print_json_text(text: str) -> None:
    """Print one JSON object that is text already, of ASCII alone as our encoders write it."""
    # Past the stream that writes out controls: JSON has none, and looking for them takes long in many megabytes.
    target: TextIO = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    target.write(json_text(text) + "\n")


def columns(stream: TextIO) -> int | None:
    """How wide the terminal is that the stream goes to; None: it goes elsewhere."""
    if not stream.isatty():
        return None
    try:
        # Of the stream itself: descriptor 1 is no longer our output (`keep_output_clean`).
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return STANDARD_COLUMNS
    return width if width > 0 else STANDARD_COLUMNS


def say(*lines: object, flush: bool = False) -> None:
    """Print text for people; on a terminal, lines that are too wide are broken between words."""
    width = columns(sys.stdout)
    text = escaped("\n".join(map(str, lines)))
    write(sys.stdout, (text if width is None else fitted(text, width)) + "\n")
    if flush:
        sys.stdout.flush()


def remark(text: str) -> None:
    """Print a note on standard error, below what was printed before it, also where both streams go to one file."""
    sys.stdout.flush()
    width = columns(sys.stderr)
    sys.stderr.write(f"{text if width is None else fitted(text, width)}\n")


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print names and values, aligned."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        say(f"{name:<{width}}  {'-' if value is None else shown}")


def print_entries(entries: Mapping[str, str]) -> None:
    """Names with what they mean, aligned; below each other where a terminal is too narrow for that."""
    width, room = max(20, *map(len, entries)), columns(sys.stdout)
    for name, text in entries.items():
        if room is not None and width + 3 > room // 2 and len(name) + len(text) + 3 > room:
            say(f"  {name}", f"    {text}")
        else:
            say(f"  {name:<{width}} {text}" if room is None else f"  {name:<{width}}  {text}")


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print columns under titles; the first `left` columns are aligned left, the others (numbers) right.

    The first `MEASURED` rows determine the width of the columns and are printed before the next ones are computed. A
    wider cell in a later row is printed whole. If the terminal is too narrow for the columns, each row is a paragraph.
    """
    rows = iter(rows)
    first = [tuple(map(escaped, row)) for row in islice(rows, MEASURED)]
    widths = [max(map(len, column)) for column in zip(titles, *first, strict=True)]
    if len(first) == MEASURED:
        widths[0] += GROWTH
    room = columns(sys.stdout)
    if room is not None and sum(widths) + 2 * (len(widths) - 1) > room:
        for row in chain(first, (tuple(map(escaped, row)) for row in rows)):
            write(sys.stdout, "\n".join([*paragraph(titles, row, room), ""]))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="")
    for k, title in enumerate(titles):
        table.add_column(
            title,
            justify="left" if k < left else "right",
            no_wrap=k >= left,
            min_width=widths[0] if k == 0 else None,
        )
    for row in first:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    # Without a terminal, rich assumes 80 columns and would cut text that a script wants to read.
    Console(width=room or 200, markup=False, highlight=False).print(table)
    if len(first) < MEASURED:
        return
    sys.stdout.flush()
    for later in rows:
        cells = zip(map(escaped, later), widths, strict=True)
        line = "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(cells)
        )
        write(sys.stdout, f"{line}\n")


def controls() -> TextIO:
    """Standard error for progress bars: the stream itself, without the layer that escapes control characters."""
    stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
    return stream


def own_bars(*columns: ProgressColumn) -> Progress:
    """Progress bars on standard error that vanish when they are stopped.

    They are drawn on the stream itself, without the layer that escapes control characters. Rich must not redirect our
    streams: its own control characters would then pass through that layer and appear as text.
    """
    from rich.console import Console
    from rich.progress import Progress

    return Progress(
        *columns,
        console=Console(file=controls()),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class _Bar:
    """A progress line on standard error. On a terminal it appears, and rich is loaded, after a moment.

    A timer thread makes it appear, because the first step of the work may take long. Native work may hold Python's
    lock, so that neither the timer nor the drawing thread runs; therefore each report also draws the line.
    """

    def __init__(
        self,
        title: str,
        total: int | None,
        columns: Callable[[], list[ProgressColumn]],
        **fields: Any,
    ):
        self._title = escaped(title)
        self._total = total
        self._columns = columns
        self._began = monotonic()
        self._progress: Progress | None = None
        self._stopped = False
        self._drawn = 0.0
        self._completed, self._fields = 0, fields
        self._lock = Lock()
        self._clock: Timer | None = None
        if sys.stderr.isatty():
            self._clock = Timer(TERMINAL_QUIET_SECONDS, self._start)
            self._clock.daemon = True
            self._clock.start()

    @property
    def seconds(self) -> float:
        return monotonic() - self._began

    def update(self, completed: int, **fields: Any) -> None:
        self._completed = completed
        self._fields |= fields
        if self._clock is not None and self.seconds > TERMINAL_QUIET_SECONDS:
            self._start()
        if self._progress is None:
            return
        late = self.seconds - self._drawn > REFRESH_SECONDS
        self._progress.update(
            self._progress.task_ids[0], completed=completed, refresh=late, **fields
        )
        if late:
            self._drawn = self.seconds

    def _start(self) -> None:
        with self._lock:
            if self._stopped or self._progress is not None:
                return
            bars = own_bars(*self._columns())
            bars.add_task(self._title, total=self._total, completed=self._completed, **self._fields)
            bars.tasks[0].start_time = self._began
            bars.start()
            self._progress = bars

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._clock is not None:
                self._clock.cancel()
            if self._progress is not None:
                self._progress.stop()


def tracked(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    """Iterate over the items; a progress bar appears on standard error after a moment."""
    with phase_progress() as report:
        for done, item in enumerate(items, 1):
            report(title, done, total)
            yield item


@contextmanager
def search_progress(title: str, unit: str = "states expanded") -> Iterator[Callable[..., None]]:
    """Show a progress line on standard error for native work of unknown length; yields its callback."""

    def columns() -> list[ProgressColumn]:
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        texts = [TextColumn("{task.description}"), TextColumn("{task.fields[detail]}")]
        return [SpinnerColumn(), *texts, TimeElapsedColumn()]

    bar = _Bar(title, None, columns, detail="")

    def update(expansions: int, evaluations: int, _: int, used: int, __: float) -> None:
        rate = expansions / max(bar.seconds, 1e-9)
        detail = f"{expansions:,} {unit}, {rate:,.0f}/s"
        if used:
            detail += f", {used / 2**20:,.0f} MB"
        if evaluations:
            detail += f", {evaluations:,} evaluated"
        bar.update(0, detail=detail)

    try:
        yield update
    finally:
        bar.stop()


@contextmanager
def waiting(title: str, shown: bool = True) -> Iterator[None]:
    """Show a line on standard error while work runs that reports no progress."""
    if not shown:
        yield
        return

    def columns() -> list[ProgressColumn]:
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        return [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]

    bar = _Bar(title, None, columns)
    try:
        yield
    finally:
        bar.stop()


@contextmanager
def counting(title: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a line on standard error for counted work of unknown length; yields a callback that takes the count."""

    def columns() -> list[ProgressColumn]:
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        texts = [TextColumn("{task.description}"), TextColumn("{task.completed:.0f} " + unit)]
        return [SpinnerColumn(), *texts, TimeElapsedColumn()]

    bar = _Bar(title, None, columns)
    try:
        yield bar.update
    finally:
        bar.stop()


@contextmanager
def phase_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar for each phase; yields a callback that takes the phase, the work done and the total."""
    bars: dict[str, _Bar] = {}

    def columns() -> list[ProgressColumn]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        text = TextColumn("{task.description}")
        return [text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]

    def report(phase: str, done: int, total: int) -> None:
        if phase not in bars:
            for bar in bars.values():
                bar.stop()
            bars[phase] = _Bar(phase, total, columns)
        bars[phase].update(done)

    try:
        yield report
    finally:
        for bar in bars.values():
            bar.stop()
