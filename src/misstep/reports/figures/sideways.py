"""Bars that lie on their side: room for long names on the left, and for the value behind each bar.

Side by side, bars of fifteen domains have names that are cut and numbers that do not fit; below each other they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from misstep.reports.figures.charts import COLOURS, Series, nice_ticks, number_text
from misstep.reports.figures.shapes import Box, Line, Page, Shape, Text, fitted, width_of

_INK, _PALE = "#222222", "#DDDDDD"
_WIDTH, _RIGHT, _TOP = 560.0, 20.0, 60.0
_MOST_LEFT = 170.0
_TINY, _SMALL, _NORMAL, _LARGE, _ROW = 8.0, 10.0, 11.0, 14.0, 17.0
_BAR, _GAP = 8.0, 9.0


def bars_sideways(
    title: str, bin_title: str, value_title: str, bins: Sequence[str], series: Sequence[Series]
) -> Page:
    """A group of bars for each bin, one bar for each series; the legend stands above, where it is seen first.

    A value that is not a number was not measured: it has a dash in place of a bar."""
    left = min(_MOST_LEFT, max([width_of(name, _SMALL) for name in bins] or [0.0]) + 22)
    values = [value for own in series for value in own.values if not isnan(value)]
    ticks = nice_ticks(max(values, default=0.0))
    # The value behind the longest bar has to fit as well.
    scale = (_WIDTH - _RIGHT - 30 - left) / ticks[-1]
    legend, rows = _legend([own.label for own in series], left)
    top = _TOP + rows * _ROW
    group = _BAR * max(1, len(series)) + _GAP
    bottom = top + group * len(bins)
    shown = fitted(title, _LARGE * 1.05, _WIDTH - 2 * _RIGHT)
    shapes: list[Shape] = [Text(_WIDTH / 2, 24, shown, _LARGE, _INK, "middle", bold=True), *legend]
    for tick in ticks:
        x = left + tick * scale
        shapes.append(Line(((x, top), (x, bottom)), _PALE, 0.7))
        shapes.append(Text(x, bottom + 14, number_text(tick), _SMALL, _INK, "middle"))
    for place, name in enumerate(bins):
        y = top + place * group + _GAP / 2
        middle = y + _BAR * len(series) / 2 + 3.5
        shapes.append(Text(left - 7, middle, fitted(name, _SMALL, left - 20), _SMALL, _INK, "end"))
        for number, own in enumerate(series):
            shapes += _bar(left, y + number * _BAR, own.values[place] * scale, number, own, name, place)  # fmt: skip
    shapes.append(Line(((left, top), (left, bottom)), _INK, 1.2))
    shapes.append(Text((left + _WIDTH) / 2, bottom + 32, value_title, _NORMAL, _INK, "middle"))
    words = f"{value_title} by {bin_title}. {_in_words(bins, series)}."
    return Page(_WIDTH, bottom + 44, title, words, tuple(shapes))


def _bar(
    left: float, y: float, length: float, number: int, own: Series, name: str, place: int
) -> list[Shape]:
    missing = isnan(own.values[place])
    shown = "-" if missing else number_text(own.values[place])
    length = 0.0 if missing else length
    about = f"{own.label}, {name}: {shown}"
    colour = COLOURS[number % len(COLOURS)]
    shapes: list[Shape] = [Text(left + length + 3, y + _BAR - 1.2, shown, _TINY)]
    if length > 0:
        shapes.append(Box(left, y, length, _BAR - 1, colour, about))
    return shapes


def _legend(labels: Sequence[str], left: float) -> tuple[list[Shape], int]:
    shapes: list[Shape] = []
    x, row = left, 0
    for number, label in enumerate(labels):
        shown = fitted(label, _NORMAL, _WIDTH - left - _RIGHT - 20)
        width = 20 + width_of(shown, _NORMAL) + 12
        if x > left and x + width > _WIDTH - _RIGHT + 12:
            x, row = left, row + 1
        y = _TOP - 12 + row * _ROW
        shapes.append(Box(x, y - 9, 12, 10, COLOURS[number % len(COLOURS)]))
        shapes.append(Text(x + 17, y, shown, _NORMAL))
        x += width
    return shapes, row


def _in_words(bins: Sequence[str], series: Sequence[Series]) -> str:
    parts = []
    for own in series:
        values = zip(bins, own.values, strict=True)
        known = [(name, value) for name, value in values if value and not isnan(value)]
        shown = ", ".join(f"{name} {number_text(value)}" for name, value in known)
        parts.append(f"{own.label}: {shown or 'none'}")
    return "; ".join(parts)


__all__ = ["bars_sideways"]
