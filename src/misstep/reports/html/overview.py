"""The first screen: what was tested, the results, and the effort. Counts and distributions as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from misstep.campaigns.settings import Settings
from misstep.campaigns.summary import Summary
from misstep.reports.html.columns import Columns
from misstep.reports.html.tasks import TaskBook
from misstep.tasks.jani.task import JaniTask

BARS = 20  # of a histogram, at most
POINTS = 160  # of a curve, at most
# What a bar of a histogram is divided into.
CLASSES = ("bug", "fine", "open")
Numbers = np.ndarray[Any, Any]


def classes_of(columns: Columns) -> Numbers:
    """Of each row: 0 a bug, 1 proven to be none, 2 open."""
    fine = np.zeros(len(columns), dtype=bool)
    for word in ("OPTIMAL", "NOT A BUG", "UNSOLVABLE"):
        fine |= columns.is_word("verdict", word)
    return np.where(columns.is_word("verdict", "BUG"), 0, np.where(fine, 1, 2))


def histogram(values: Numbers, classes: Numbers) -> dict[str, Any]:
    """Bars [from, to, bugs, fine, open] over whole numbers, and apart what is infinite or not known."""
    finite = np.isfinite(values)
    infinite = np.isposinf(values)
    bars: list[list[int]] = []
    if finite.any():
        low, high = int(values[finite].min()), int(values[finite].max())
        width = max(1, math.ceil((high - low + 1) / BARS))
        places = ((values[finite] - low) // width).astype(int)
        counts = np.zeros((int(places.max()) + 1, len(CLASSES)), dtype=int)
        np.add.at(counts, (places, classes[finite]), 1)
        for k, own in enumerate(counts.tolist()):
            first = low + k * width
            bars.append([first, min(high, first + width - 1), *own])
    return {
        "bars": bars,
        "infinite": _counted(classes[infinite]),
        "unknown": _counted(classes[~finite & ~infinite]),
    }


def _counted(classes: Numbers) -> list[int]:
    return [int((classes == k).sum()) for k in range(len(CLASSES))]


def curve(times: Sequence[float]) -> list[list[float]]:
    """Bugs so far over time, thinned: the last point is exact."""
    ordered = sorted(times)
    step = max(1, math.ceil(len(ordered) / POINTS))
    points = [[round(ordered[k], 3), k + 1] for k in range(step - 1, len(ordered), step)]
    if ordered and points[-1][1] != len(ordered):
        points.append([round(ordered[-1], 3), len(ordered)])
    return points


def tested(columns: Columns, books: Mapping[str, TaskBook], summary: Summary) -> dict[str, Any]:
    """Which states were tested, so that readers can judge what "no bugs" means."""
    classes = classes_of(columns)
    depth = columns.number("depth").astype(float)
    depth[depth < 0] = math.nan
    # A state without known bounds is no state without a plan.
    lower, upper = columns.number("lower"), columns.number("upper")
    outcomes = columns.place("outcome")
    words = columns.words["outcome"].all
    return {
        "depth": histogram(depth, classes),
        "distance": histogram(lower, classes),
        "exact": int((lower == upper).sum()),
        "outcomes": [
            [word, *_counted(classes[outcomes == k])]
            for k, word in enumerate(words)
            if word is not None
        ],
        "tasks": [
            {"name": name, **book.size(), **_of_task(summary, name)} for name, book in books.items()
        ],
    }


def _of_task(summary: Summary, name: str) -> dict[str, int]:
    own = summary.by_task.get(name, {})
    names = ("states", "tested", "solved", "bugs", "optimal", "unsolvable", "unknown", "flaky")
    return {key: own.get(key, 0) for key in names}


def severity(columns: Columns) -> dict[str, Any]:
    """The least loss of the bugs: the gap, or for a model the radius."""
    bugs = columns.is_word("verdict", "BUG")
    return histogram(columns.number("low")[bugs], np.zeros(int(bugs.sum()), dtype=int))


def effort(summary: Summary, expansions: int, evaluations: int) -> dict[str, Any]:
    return {
        "seconds": summary.seconds,
        "calls": summary.policy_calls,
        "runs": summary.runs,
        "expansions": expansions,
        "evaluations": evaluations,
        "askedAgain": summary.asked_again,
    }


def commands(folder: Path | None, settings: Settings, books: Mapping[str, TaskBook]) -> list[str]:
    """Commands that repeat the campaign and continue from it; none for a campaign in memory."""
    if folder is None:
        return []
    place = quote(str(folder))
    config = quote(str(folder / "config.toml"))
    return [
        f"misstep test {_paths(books)} --config {config} --out again",
        f"misstep test --pool-from {place} --policy {quote(settings.policy)} --out again",
        f"misstep replay {place}",
        f"misstep report {place}",
    ]


def _paths(books: Mapping[str, TaskBook]) -> str:
    """The files of the task, as far as the campaign knows where they were."""
    tasks = [book.task for book in books.values()]
    if len(tasks) == 1:
        task = tasks[0]
        if isinstance(task, JaniTask):
            return quote(str(task.source.get("path", "MODEL.jani")))
        if task.pddl is not None:
            return " ".join(quote(str(source.path)) for source in task.pddl)
    return "TASK..."


__all__ = ["classes_of", "commands", "curve", "effort", "histogram", "severity", "tested"]
