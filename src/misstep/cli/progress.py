"""How far a campaign is, on standard error."""

from __future__ import annotations

import sys
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
    """A bar for each phase. It appears, and rich is loaded, after `QUIET_SECONDS` on a terminal."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._bars: Bars | None = None
        self._row: TaskID | None = None
        self._phase = ""
        self._start = (0, 0.0)  # what was done, and when the phase was first seen

    def report(self, phase: str, done: int, total: int | None, bugs: int) -> None:
        if not sys.stderr.isatty() or monotonic() - self._began < QUIET_SECONDS:
            return
        bars = self._bars = self._bars or self._shown()
        if phase != self._phase or self._row is None:
            # A row for each phase: rates and times left are its own.
            if self._row is not None:
                bars.stop_task(self._row)
            self._row = bars.add_task(phase, total=None, bugs=0, rate="")
            self._phase, self._start = phase, (done, monotonic())
        rate = (done - self._start[0]) / max(monotonic() - self._start[1], 1e-9)
        bars.update(self._row, completed=done, total=total, bugs=bugs, rate=f"{rate:,.1f}/s")

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

        bars = Progress(
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
        bars.start()
        return bars

    def stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()


@contextmanager
def campaign_progress() -> Iterator[Progress]:
    """What `misstep.test` and its like are given to report to."""
    bar = _CampaignBar()
    try:
        yield bar.report
    finally:
        bar.stop()


__all__ = ["Progress", "campaign_progress"]
