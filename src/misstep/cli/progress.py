"""The progress of a campaign, on standard error.

A terminal shows two rows, which vanish at the end: the number of tasks done, and the current work. Without a terminal,
a line is written every ten seconds, so that a log shows progress. A separate timer thread draws both, because after the
first report of a phase the next one may take an hour.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from misstep.cli.output import QUIET_SECONDS, own_bars
from misstep.cli.pace import Pace, in_words, left_of_tasks
from misstep.escaping import escaped

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from misstep.campaigns.limits import Progress

FIRST_LINE = 1.5
EVERY = 10.0
REDRAWN = 1.0  # estimates on a terminal
MOST_PHASES = 64
NAME = 48  # letters of a task and its phase on a terminal


class Watch:
    """The state of the work so far."""

    def __init__(self) -> None:
        self.began = monotonic()
        self.phase = ""
        self.done = 0
        self.total: int | None = None
        self.bugs = 0
        self.tasks_done = 0
        self.tasks_total: int | None = None
        self._task_began = self.began
        self._seconds: list[float] = []  # of the tasks that were done in this session
        self._paces: dict[str, Pace] = {}

    @property
    def seconds(self) -> float:
        return monotonic() - self.began

    def report(self, phase: str, done: int, total: int | None, bugs: int) -> None:
        now = monotonic()
        pace = self._paces.pop(phase, None) or Pace(done, now)
        pace.see(done, now)
        self._paces[phase] = pace
        while len(self._paces) > MOST_PHASES:
            del self._paces[next(iter(self._paces))]
        self.phase, self.done, self.total, self.bugs = phase, done, total, bugs

    def tasks(self, done: int, total: int) -> None:
        now = monotonic()
        if self.tasks_total is not None and done > self.tasks_done:
            # With several workers tasks overlap; then this is the time from one end to the next.
            self._seconds.append((now - self._task_began) / (done - self.tasks_done))
            self._task_began = now
        self.tasks_done, self.tasks_total = done, total

    def left_of_phase(self) -> str:
        pace = self._paces.get(self.phase)
        left = None if pace is None else pace.left(self.total, monotonic())
        return "" if left is None else in_words(left)

    def left_of_all(self) -> str:
        if self.tasks_total is None:
            return ""
        current = monotonic() - self._task_began
        left = left_of_tasks(self._seconds, self.tasks_total - self.tasks_done, current)
        return "" if left is None else in_words(left)

    def line(self) -> str:
        """The state as one line for a log."""
        parts = []
        if not self.phase:
            parts.append("loading the tasks and the policy")
        else:
            of = "" if self.total is None else f" {self.done} of {self.total}"
            parts.append(self.phase + of)
        left = self.left_of_phase()
        if left:
            parts.append(f"{left} left of this")
        if self.tasks_total is not None and self.tasks_total > 1:
            parts.append(f"{self.tasks_done} of {self.tasks_total} tasks done")
            left = self.left_of_all()
            if left:
                parts.append(f"{left} left of all")
        parts.append(f"{self.bugs} bug{'' if self.bugs == 1 else 's'} so far")
        return f"[{clock(self.seconds)}] " + "; ".join(parts)


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class CampaignProgress:
    """Receives the reports of `misstep.test` and similar functions; `tasks` gets the number of finished tasks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watch = Watch()
        self._over = threading.Event()
        self._bars: Bars | None = None
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __call__(self, phase: str, done: int, total: int | None, bugs: int) -> None:
        with self._lock:
            self._watch.report(phase, done, total, bugs)
            self._draw()

    def tasks(self, done: int, total: int) -> None:
        with self._lock:
            self._watch.tasks(done, total)
            self._draw()

    def note(self, text: str) -> None:
        """Print a line that stays, above the progress rows."""
        with self._lock, contextlib.suppress(OSError, ValueError):  # the stream is closed
            if self._bars is not None:
                self._bars.console.print(escaped(text), markup=False, highlight=False)
            elif sys.stderr is not None:
                sys.stderr.write(escaped(text) + "\n")
                sys.stderr.flush()

    def begin(self) -> None:
        if sys.stderr is not None:
            self._clock.start()

    def stop(self) -> None:
        self._over.set()
        with self._lock:
            bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()
        if self._clock.is_alive():
            self._clock.join(
                EVERY
            )  # a policy may fork later, and forks are only safe without other threads

    def _tick(self) -> None:
        if sys.stderr.isatty():
            self._rows()
        else:
            self._lines()

    # -- without a terminal -----------------------------------------------------------------------

    def _lines(self) -> None:
        wait = FIRST_LINE
        while not self._over.wait(wait):
            wait = EVERY
            with self._lock:
                if self._over.is_set():
                    return
                try:
                    sys.stderr.write(self._watch.line() + "\n")
                    sys.stderr.flush()
                except (OSError, ValueError):
                    return  # the stream is closed

    # -- on a terminal ----------------------------------------------------------------------------

    def _rows(self) -> None:
        if self._over.wait(QUIET_SECONDS):
            return
        bars = _two_rows()
        with self._lock:
            if self._over.is_set():
                return
            bars.start()
            self._bars = bars
            self._draw()
        while not self._over.wait(REDRAWN):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if self._bars is None:
            return
        watch = self._watch
        overall, current = self._bars.task_ids
        many = watch.tasks_total is not None and watch.tasks_total > 1
        of_all = "1 task" if not many else f"{watch.tasks_done} of {watch.tasks_total} tasks"
        words = [f"{watch.bugs} bug{'' if watch.bugs == 1 else 's'} so far", clock(watch.seconds)]
        left = watch.left_of_all()
        if left:
            words.append(f"{left} left")
        self._bars.update(
            overall,
            description=of_all,
            completed=watch.tasks_done,
            total=watch.tasks_total
            if many
            else None,  # phases do not say how much of a single task is done
            detail=", ".join(words),
        )
        counted = f"{watch.done}" if watch.total is None else f"{watch.done} of {watch.total}"
        left = watch.left_of_phase()
        self._bars.update(
            current,
            description=_short(escaped(watch.phase or "loading")),
            completed=watch.done,
            total=watch.total,
            detail=counted + (f", {left} left of this" if left else ""),
        )


def _short(text: str) -> str:
    """Shorten a name that is too long; its end stays, because the phase is there."""
    return text if len(text) <= NAME else "…" + text[1 - NAME :]


def _two_rows() -> Bars:
    from rich.progress import BarColumn, TextColumn

    bars = own_bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    for _ in range(2):
        bars.add_task("", total=None, detail="")
    return bars


@contextmanager
def campaign_progress() -> Iterator[Progress]:
    """Show the progress of `misstep.test` and similar functions; yields the object that they report to."""
    progress = CampaignProgress()
    progress.begin()
    try:
        yield progress
    finally:
        progress.stop()


__all__ = ["CampaignProgress", "Watch", "campaign_progress", "clock"]
