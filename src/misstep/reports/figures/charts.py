"""Charts as shapes: step curves over a line of numbers, and bars side by side.

The colours are those of Okabe and Ito, which people with any kind of colour blindness can tell apart; curves differ by
their dashes as well, so that a figure survives a printer without colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from misstep.reports.figures.shapes import Box, Line, Page, Point, Shape, Text, fitted, width_of

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3))
_INK, _PALE = "#222222", "#DDDDDD"
_WIDTH, _PLOT_HEIGHT = 560.0, 260.0
_LEFT, _RIGHT, _TOP = 58.0, 20.0, 44.0
_TINY, _SMALL, _NORMAL, _LARGE = 9.0, 10.0, 11.0, 14.0
_ROW = 17.0  # of the legend
_TICKS = 6
MOST_POINTS = 2000  # of a curve


@dataclass(frozen=True)
class Curve:
    """A step function that starts at 0 and stays at its last value until its end."""

    label: str
    points: tuple[tuple[float, float], ...]
    end: float


@dataclass(frozen=True)
class Series:
    """One bar in each bin."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Chart:
    title: str
    x_title: str
    y_title: str
    curves: tuple[Curve, ...] = ()
    bins: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    empty: str = "no bugs"  # what stands in a chart without any value

    def page(self) -> Page:
        """The chart, laid out."""
        return _Layout(self).page()


class _Layout:
    """Where everything goes: title, plot with its axes, legend below."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.labels = [own.label for own in chart.curves] + [own.label for own in chart.series]
        values = [y for curve in chart.curves for _, y in curve.points]
        values += [y for series in chart.series for y in series.values]
        self.y_ticks = nice_ticks(max(values, default=0), whole=True)
        longest = max(width_of(number_text(tick), _SMALL) for tick in self.y_ticks)
        self.left = max(_LEFT, longest + 34)
        self.right, self.bottom = _WIDTH - _RIGHT, _TOP + _PLOT_HEIGHT
        self.top_value = self.y_ticks[-1]
        self.empty = not any(values)

    def page(self) -> Page:
        legend, rows = self._legend()
        body = self._curves() if self.chart.curves else self._bars()
        shapes = [*self._frame(), *body, *legend]
        if self.empty:
            middle = (self.left + self.right) / 2
            nothing = Text(
                middle, _TOP + _PLOT_HEIGHT / 2, self.chart.empty, _LARGE, "#666666", "middle"
            )
            shapes.append(nothing)
        height = self.bottom + 46 + rows * _ROW + 8
        return Page(_WIDTH, height, self.chart.title, self._in_words(), tuple(shapes))

    def _y(self, value: float) -> float:
        return self.bottom - _PLOT_HEIGHT * value / self.top_value

    def _frame(self) -> list[Shape]:
        chart, middle = self.chart, (self.left + self.right) / 2
        title = fitted(chart.title, _LARGE * 1.05, _WIDTH - 2 * _RIGHT)
        shapes: list[Shape] = [Text(_WIDTH / 2, 24, title, _LARGE, _INK, "middle", bold=True)]
        for tick in self.y_ticks:
            y = self._y(tick)
            shapes.append(Line(((self.left, y), (self.right, y)), _PALE, 0.7))
            shapes.append(Text(self.left - 7, y + 3.5, number_text(tick), _SMALL, _INK, "end"))
        shapes.append(Line(((self.left, self.bottom), (self.right, self.bottom)), _INK, 1.2))
        shapes.append(Text(middle, self.bottom + 36, chart.x_title, _NORMAL, _INK, "middle"))
        place = _TOP + _PLOT_HEIGHT / 2
        shapes.append(Text(17, place, chart.y_title, _NORMAL, _INK, "middle", turned=True))
        return shapes

    def _legend(self) -> tuple[list[Shape], int]:
        """A sample and a name for each; none where there is only one. Also the number of rows."""
        if len(self.labels) < 2:
            return [], 0
        room = _WIDTH - self.left - _RIGHT
        shapes: list[Shape] = []
        x, row = self.left, 0
        for number, label in enumerate(self.labels):
            shown = fitted(label, _NORMAL, room - 34)
            width = 34 + width_of(shown, _NORMAL) + 18
            if x > self.left and x + width > _WIDTH - _RIGHT + 18:
                x, row = self.left, row + 1
            y = self.bottom + 58 + row * _ROW
            colour = COLOURS[number % len(COLOURS)]
            if self.chart.curves:
                shapes.append(Line(((x, y - 4), (x + 26, y - 4)), colour, 2, _dashes(number)))
            else:
                shapes.append(Box(x + 8, y - 9, 12, 10, colour))
            shapes.append(Text(x + 32, y, shown, _NORMAL))
            x += width
        return shapes, row + 1

    def _curves(self) -> list[Shape]:
        chart = self.chart
        ticks = nice_ticks(max(curve.end for curve in chart.curves))
        scale = (self.right - self.left) / ticks[-1]
        shapes: list[Shape] = []
        for tick in ticks:
            x = self.left + tick * scale
            shapes.append(Line(((x, self.bottom), (x, self.bottom + 4)), _INK))
            shapes.append(Text(x, self.bottom + 17, number_text(tick), _SMALL, _INK, "middle"))
        for number, curve in enumerate(chart.curves):
            points = self._steps(curve, scale)
            shapes.append(Line(points, COLOURS[number % len(COLOURS)], 2, _dashes(number)))
        return shapes

    def _steps(self, curve: Curve, scale: float) -> tuple[Point, ...]:
        points: list[Point] = [(self.left, self.bottom)]
        for x, y in thinned(curve.points):
            place = self.left + x * scale
            points += [(place, points[-1][1]), (place, self._y(y))]
        points.append((self.left + curve.end * scale, points[-1][1]))
        return tuple(points)

    def _bars(self) -> list[Shape]:
        chart = self.chart
        count = max(1, len(chart.bins))
        step = (self.right - self.left) / count
        width = min(36.0, step * 0.8 / max(1, len(chart.series)))
        shapes: list[Shape] = []
        for place, name in enumerate(chart.bins):
            middle = self.left + (place + 0.5) * step
            for number, part in enumerate(in_two_lines(name, _SMALL, step - 2)):
                y = self.bottom + (17 if part == name else 13 + 10 * number)
                shown = fitted(part, _SMALL, step - 2)
                shapes.append(Text(middle, y, shown, _SMALL, _INK, "middle"))
            first = middle - width * len(chart.series) / 2
            for number, series in enumerate(chart.series):
                x = first + number * width
                shapes += self._bar(x, width, number, series, place)
        return shapes

    def _bar(self, x: float, width: float, number: int, series: Series, place: int) -> list[Shape]:
        value = series.values[place]
        if not value:
            return []
        y, shown = self._y(value), number_text(value)
        title = f"{series.label}, {self.chart.bins[place]}: {shown}"
        colour = COLOURS[number % len(COLOURS)]
        shapes: list[Shape] = [Box(x, y, width * 0.92, self.bottom - y, colour, title)]
        room = width_of(shown, _TINY)
        if room <= width:
            middle = x + width * 0.46
            # On white, so that no line of the grid runs through it.
            shapes.append(Box(middle - room / 2 - 1, y - 11, room + 2, 9.5, "#ffffff"))
            shapes.append(Text(middle, y - 3, shown, _TINY, _INK, "middle"))
        return shapes

    def _in_words(self) -> str:
        chart = self.chart
        parts = [
            f"{curve.label}: {number_text(curve.points[-1][1] if curve.points else 0)} at the end"
            for curve in chart.curves
        ]
        for series in chart.series:
            own = zip(chart.bins, series.values, strict=True)
            shown = ", ".join(f"{name} {number_text(value)}" for name, value in own if value)
            parts.append(f"{series.label}: {shown or 'none'}")
        return f"{chart.y_title} by {chart.x_title}. " + "; ".join(parts) + "."


def in_two_lines(text: str, size: float, room: float) -> list[str]:
    """A text that is too wide, broken at the hyphen or blank that leaves both parts shortest; else as it is."""
    breaks = [k + 1 for k, own in enumerate(text[:-1]) if own in "- "]
    if width_of(text, size) <= room or not breaks:
        return [text]
    best = min(breaks, key=lambda k: max(width_of(text[:k], size), width_of(text[k:], size)))
    return [text[:best].rstrip(), text[best:]]


def _dashes(number: int) -> tuple[float, ...]:
    # A new pattern each time, so that neighbours differ by more than their colour.
    return DASHES[number % len(DASHES)]


def nice_ticks(largest: float, *, whole: bool = False) -> list[float]:
    """0 and some round numbers behind it, the last one not below the largest."""
    if not largest > 0 or not math.isfinite(largest):
        return [0.0, 1.0]
    rough = largest / (_TICKS - 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(own * unit for own in (1, 2, 2.5, 5, 10) if own * unit >= rough * (1 - 1e-9))
    if whole:
        step = float(max(1, math.ceil(step)))
    count = max(1, math.ceil(largest / step - 1e-9))
    return [k * step for k in range(count + 1)]


def number_text(value: float) -> str:
    """Short, and without a fraction where there is none."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `MOST_POINTS` points, the last one among them: more cannot be seen."""
    if len(points) <= MOST_POINTS:
        return list(points)
    every = math.ceil(len(points) / MOST_POINTS)
    return [*points[:-1:every], points[-1]]


__all__ = [
    "COLOURS",
    "Chart",
    "Curve",
    "Series",
    "in_two_lines",
    "nice_ticks",
    "number_text",
    "thinned",
]
