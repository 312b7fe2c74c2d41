"""Charts with logarithmic axes: shares that are reached over time, and two times of the same thing against each other.

Times of solvers span six powers of ten; on a plain axis all but the slowest are one line. What took no measurable time
is drawn at the left or lower end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from misstep.reports.figures.charts import COLOURS, DASHES, Curve
from misstep.reports.figures.shapes import Box, Line, Page, Point, Shape, Text, fitted, width_of

_INK, _PALE = "#222222", "#DDDDDD"
_WIDTH, _HEIGHT = 560.0, 280.0
_LEFT, _RIGHT, _TOP = 76.0, 20.0, 44.0
_SMALL, _NORMAL, _LARGE, _ROW = 10.0, 11.0, 14.0, 17.0
LEAST = 1e-6  # seconds; less is not measured
_DOT = 4.0
_FEW, _SPOT = 200, 4.0


@dataclass(frozen=True)
class Dots:
    """Pairs of positive numbers."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Axis:
    """Powers of ten from the first to the last on a line of the page."""

    first: int
    last: int
    start: float
    end: float

    def place(self, value: float) -> float:
        power = math.log10(max(value, 10.0**self.first))
        share = (power - self.first) / (self.last - self.first)
        return self.start + (self.end - self.start) * min(1.0, share)

    def ticks(self) -> list[tuple[float, str]]:
        every = max(1, math.ceil((self.last - self.first) / 8))
        powers = range(self.first, self.last + 1, every)
        return [(self.place(10.0**power), power_text(power)) for power in powers]


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    positive = [max(own, LEAST) for own in values] or [LEAST, 1.0]
    first = math.floor(math.log10(min(positive)))
    last = max(first + 1, math.ceil(math.log10(max(positive))))
    return _Axis(first, last, start, end)


def power_text(power: int) -> str:
    """A power of ten as it is read: 0.01, 1, 1,000."""
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def shares_over_time(title: str, x_title: str, y_title: str, curves: Sequence[Curve]) -> Page:
    """Curves of percentages over a logarithmic line of seconds."""
    values = [x for curve in curves for x, _ in curve.points] + [own.end for own in curves]
    axis = _axis(values, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _HEIGHT
    shapes = _frame(title, x_title, y_title)
    for percent in range(0, 101, 20):
        y = bottom - _HEIGHT * percent / 100
        shapes.append(Line(((_LEFT, y), (_WIDTH - _RIGHT, y)), _PALE, 0.7))
        shapes.append(Text(_LEFT - 7, y + 3.5, str(percent), _SMALL, _INK, "end"))
    shapes += _ticks_below(axis)
    for number, curve in enumerate(curves):
        points: list[Point] = [(_LEFT, bottom)]
        places = [(axis.place(max(x, LEAST)), bottom - _HEIGHT * y / 100) for x, y in curve.points]
        for place, height in _seen(places):
            points += [(place, points[-1][1]), (place, height)]
        points.append((axis.place(max(curve.end, LEAST)), points[-1][1]))
        dashes = DASHES[number % len(DASHES)]
        shapes.append(Line(tuple(points), COLOURS[number % len(COLOURS)], 2, dashes))
    legend, rows = _legend([own.label for own in curves], lines=True)
    last = {own.label: own.points[-1][1] if own.points else 0.0 for own in curves}
    words = "; ".join(f"{label}: {value:.1f} % at the end" for label, value in last.items())
    return _page(title, f"{y_title} by {x_title}. {words}.", [*shapes, *legend], rows)


def against_each_other(title: str, x_title: str, y_title: str, groups: Sequence[Dots]) -> Page:
    """Pairs on two logarithmic axes of the same length, with the diagonal."""
    values = [value for own in groups for point in own.points for value in point]
    bottom = _TOP + _HEIGHT
    right = _WIDTH - _RIGHT
    across, up = _axis(values, _LEFT, right), _axis(values, bottom, _TOP)
    shapes = _frame(title, x_title, y_title)
    for place, label in up.ticks():
        shapes.append(Line(((_LEFT, place), (right, place)), _PALE, 0.7))
        shapes.append(Text(_LEFT - 7, place + 3.5, label, _SMALL, _INK, "end"))
    shapes += _ticks_below(across)
    shapes.append(Line(((_LEFT, bottom), (right, _TOP)), "#888888", 1, (4, 3)))
    for number, own in enumerate(groups):
        colour = COLOURS[number % len(COLOURS)]
        places = [(across.place(max(x, LEAST)), up.place(max(y, LEAST))) for x, y in own.points]
        for middle in _apart(places):
            shapes.append(Box(middle[0] - _DOT / 2, middle[1] - _DOT / 2, _DOT, _DOT, colour))
    legend, rows = _legend([own.label for own in groups], lines=False)
    words = "; ".join(
        f"{own.label}: {len(own.points)} pairs, {sum(y > x for x, y in own.points)} above the diagonal"
        for own in groups
    )
    return _page(title, f"{y_title} against {x_title}. {words}.", [*shapes, *legend], rows)


def _seen(places: Sequence[Point]) -> list[Point]:
    """Of a rising curve the points that are a pixel further than the one before, and the last: more cannot be seen."""
    kept: list[Point] = []
    for place in places:
        if not kept or place[0] - kept[-1][0] >= 1 or place is places[-1]:
            kept.append(place)
    return kept


def _apart(places: Sequence[Point]) -> list[Point]:
    """Of points that fall onto the same spot one; all of them where there are few."""
    if len(places) <= _FEW:
        return list(places)
    spots = {(round(x / _SPOT), round(y / _SPOT)): (x, y) for x, y in reversed(places)}
    return list(spots.values())


def _frame(title: str, x_title: str, y_title: str) -> list[Shape]:
    bottom = _TOP + _HEIGHT
    shown = fitted(title, _LARGE * 1.05, _WIDTH - 2 * _RIGHT)
    return [
        Text(_WIDTH / 2, 24, shown, _LARGE, _INK, "middle", bold=True),
        Line(((_LEFT, bottom), (_WIDTH - _RIGHT, bottom)), _INK, 1.2),
        Text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 36, x_title, _NORMAL, _INK, "middle"),
        Text(17, _TOP + _HEIGHT / 2, y_title, _NORMAL, _INK, "middle", turned=True),
    ]


def _ticks_below(axis: _Axis) -> list[Shape]:
    bottom = _TOP + _HEIGHT
    shapes: list[Shape] = []
    for place, label in axis.ticks():
        shapes.append(Line(((place, bottom), (place, bottom + 4)), _INK))
        shapes.append(Text(place, bottom + 17, label, _SMALL, _INK, "middle"))
    return shapes


def _legend(labels: Sequence[str], *, lines: bool) -> tuple[list[Shape], int]:
    shapes: list[Shape] = []
    x, row = _LEFT, 0
    for number, label in enumerate(labels):
        shown = fitted(label, _NORMAL, _WIDTH - _LEFT - _RIGHT - 34)
        width = 34 + width_of(shown, _NORMAL) + 18
        if x > _LEFT and x + width > _WIDTH - _RIGHT + 18:
            x, row = _LEFT, row + 1
        y = _TOP + _HEIGHT + 58 + row * _ROW
        colour = COLOURS[number % len(COLOURS)]
        if lines:
            ends = ((x, y - 4), (x + 26, y - 4))
            shapes.append(Line(ends, colour, 2, DASHES[number % len(DASHES)]))
        else:
            shapes.append(Box(x + 11, y - 6, _DOT, _DOT, colour))
        shapes.append(Text(x + 32, y, shown, _NORMAL))
        x += width
    return shapes, row + 1 if labels else 0


def _page(title: str, words: str, shapes: Sequence[Shape], rows: int) -> Page:
    height = _TOP + _HEIGHT + 46 + rows * _ROW + 8
    return Page(_WIDTH, height, title, words, tuple(shapes))


__all__ = ["Dots", "against_each_other", "power_text", "shares_over_time"]
