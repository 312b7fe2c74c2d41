"""How far a campaign is, on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from misstep.cli.output import QUIET_SECONDS

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

Progress = Callable[[str, int, int | None, int], None]


class _CampaignBar:
    """A bar for each phase. It appears, and rich is loaded, after `QUIET_SECONDS` on a terminal.

    A clock of its own lets it appear, because the first report of a phase may be the last one for an hour.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bars: Bars | None = None
        self._row: TaskID | None = None
        self._phase = ""
        self._last: tuple[str, int, int | None, int] | None = None
        self._start = (0, 0.0)  # what was done, and when the phase was first seen
        self._clock = threading.Timer(QUIET_SECONDS, self._appear)
        self._clock.daemon = True

    def begin(self) -> None:
        if sys.stderr.isatty():
            self._clock.start()

    def report(self, phase: str, done: int, total: int | None, bugs: int) -> None:
        with self._lock:
            if self._last is None or self._last[0] != phase:
                self._start = (done, monotonic())
            self._last = (phase, done, total, bugs)
            self._draw()

    def _appear(self) -> None:
        bars = self._shown()
        with self._lock:
            self._bars = bars
            self._draw()

    def _draw(self) -> None:
        if self._bars is None or self._last is None:
            return
        if not self._bars.live.is_started:
            self._bars.start()
        phase, done, total, bugs = self._last
        if phase != self._phase or self._row is None:
            # A row for each phase: rates and times left are its own.
            if self._row is not None:
                self._bars.stop_task(self._row)
            self._row = self._bars.add_task(phase, total=None, bugs=0, rate="")
            self._phase = phase
        rate = (done - self._start[0]) / max(monotonic() - self._start[1], 1e-9)
        self._bars.update(self._row, completed=done, total=total, bugs=bugs, rate=f"{rate:,.1f}/s")

    def _shown(self) -> Bars:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[bugs]} bugs"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def stop(self) -> None:
        self._clock.cancel()
        with self._lock:
            bars, self._bars, self._last = self._bars, None, None
        if bars is not None and bars.live.is_started:
            bars.stop()


@contextmanager
def campaign_progress() -> Iterator[Progress]:
    """What `misstep.test` and its like are given to report to."""
    bar = _CampaignBar()
    bar.begin()
    try:
        yield bar.report
    finally:
        bar.stop()


__all__ = ["Progress", "campaign_progress"]
