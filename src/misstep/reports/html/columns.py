"""The table of records as columns of numbers; words are places in lists of words.

One record gives one number to each column. An infinite number stays infinite, what does not apply is no number (NaN),
so that the browser filters and sorts arrays without looking at objects.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np

from misstep.campaigns.records import Interval, Record
from misstep.reports.html.chunks import Chunks

# Names and types of the columns; for those with words, the words are kept beside.
NUMBERS = {
    "number": "u4",
    "low": "f8",
    "high": "f8",
    "lower": "f8",
    "upper": "f8",
    "cost": "f8",
    "steps": "u4",
    "depth": "i4",
    "at": "f8",
    "seconds": "f4",
    "faults": "u4",
}
WORDS = ("task", "verdict", "kind", "outcome", "oracle", "source", "signature")
_CODES = {"u4": "I", "f8": "d", "f4": "f", "i4": "i"}


class Words:
    """Different words in the order in which they come up; None is one of them."""

    def __init__(self) -> None:
        self._places: dict[str | None, int] = {}

    def place(self, word: str | None) -> int:
        return self._places.setdefault(word, len(self._places))

    @property
    def all(self) -> list[str | None]:
        return list(self._places)


class Columns:
    """The columns of one campaign, filled record by record."""

    def __init__(self) -> None:
        self.numbers = {name: array(_CODES[code]) for name, code in NUMBERS.items()}
        self.words = {name: Words() for name in WORDS}
        self.places = {name: array("I") for name in WORDS}

    def __len__(self) -> int:
        return len(self.places["task"])

    def add(self, record: Record) -> None:
        low, high = _bounds(record.gap if record.radius is None else record.radius)
        lower, upper = _bounds(record.bounds)
        cost, walk = record.run.cost, record.found.walk
        step = record.found.step
        row: dict[str, float] = {
            "number": record.number,
            "low": low if record.is_bug else math.nan,
            "high": high if record.is_bug else math.nan,
            "lower": lower,
            "upper": upper,
            "cost": math.nan if cost is None else cost,
            "steps": len(record.run.operators),
            "depth": len(walk.operators) if walk is not None else -1 if step is None else step,
            "at": record.at,
            "seconds": record.times.judge,
            "faults": len(record.faults or ()),
        }
        for name, value in row.items():
            self.numbers[name].append(value)  # type: ignore[arg-type]
        texts = {
            "task": record.task,
            "verdict": "UNSOLVABLE" if record.is_unsolvable else record.verdict,
            "kind": record.kind,
            "outcome": record.run.outcome,
            "oracle": record.oracle,
            "source": record.source,
            "signature": record.family,
        }
        for name, text in texts.items():
            self.places[name].append(self.words[name].place(text))

    def rows_by_id(self) -> dict[str, int]:
        """The row of each record."""
        tasks, words = self.places["task"], self.words["task"].all
        numbers = self.numbers["number"]
        return {
            f"{words[task]}:{number}": row
            for row, (task, number) in enumerate(zip(tasks, numbers, strict=True))
        }

    def number(self, name: str) -> np.ndarray[Any, Any]:
        return np.asarray(self.numbers[name])

    def place(self, name: str) -> np.ndarray[Any, Any]:
        return np.asarray(self.places[name])

    def is_word(self, name: str, word: str) -> np.ndarray[Any, Any]:
        """In which rows a column has that word."""
        found: np.ndarray[Any, Any] = self.place(name) == self.words[name].place(word)
        return found

    def add_to(self, chunks: Chunks, prefix: str) -> dict[str, Any]:
        """Add all columns to the page; returns what describes them there."""
        described: dict[str, Any] = {}
        for name, code in NUMBERS.items():
            values = self.number(name).astype(code)
            described[name] = {"type": chunks.add_array(f"{prefix}.{name}", values)}
        for name in WORDS:
            words = self.words[name].all
            code = "u1" if len(words) < 2**8 else "u2" if len(words) < 2**16 else "u4"
            values = self.place(name).astype(code)
            described[name] = {"type": chunks.add_array(f"{prefix}.{name}", values), "words": words}
        return described


def _bounds(interval: Interval | None) -> tuple[float, float]:
    if interval is None:
        return math.nan, math.nan
    low, high = interval
    return math.inf if low is None else low, math.inf if high is None else high


__all__ = ["NUMBERS", "WORDS", "Columns", "Words"]
