"""Figures with logarithmic axes: where curves and dots are, and names that are broken in two."""

from __future__ import annotations

import pytest

from misstep.reports.figures.charts import Chart, Curve, Series, in_two_lines
from misstep.reports.figures.logarithmic import (
    LEAST,
    Dots,
    against_each_other,
    power_text,
    shares_over_time,
)
from misstep.reports.figures.shapes import Box, Line, Text
from misstep.reports.figures.sideways import bars_sideways
from misstep.reports.figures.svg import svg_text


def test_a_tenth_of_the_time_is_as_far_everywhere() -> None:
    curve = Curve("a", ((0.001, 10), (0.01, 60), (0.1, 100)), 1.0)
    page = shares_over_time("t", "s", "%", [curve])
    line = next(
        s for s in page.shapes if isinstance(s, Line) and s.width == 2 and len(s.points) > 2
    )
    rises = [b[0] for a, b in zip(line.points, line.points[1:], strict=False) if a[1] != b[1]]
    assert rises[1] - rises[0] == pytest.approx(rises[2] - rises[1])
    heights = sorted({y for _, y in line.points}, reverse=True)
    assert (heights[0] - heights[1]) * 5 == pytest.approx(heights[1] - heights[2])
    assert "a: 100.0 % at the end" in page.description


def test_equal_times_are_on_the_diagonal() -> None:
    points = ((0.001, 0.001), (1.0, 1.0), (0.01, 1.0), (0.0, 0.5))
    page = against_each_other("t", "x", "y", [Dots("b", points)])
    diagonal = next(s for s in page.shapes if isinstance(s, Line) and s.dashes == (4, 3))
    (left, bottom), (right, top) = diagonal.points
    dots = [s for s in page.shapes if isinstance(s, Box)][: len(points)]
    shares = [
        ((d.x + 2 - left) / (right - left), (bottom - d.y - 2) / (bottom - top)) for d in dots
    ]
    assert shares[0][0] == pytest.approx(shares[0][1])
    assert shares[1] == pytest.approx((1.0, 1.0))
    assert shares[2][0] < shares[2][1]
    assert shares[3][0] == pytest.approx(0.0)  # no time at all is as good as the least
    assert "4 pairs, 2 above the diagonal" in page.description


def test_nothing_at_all_is_a_figure_too() -> None:
    for page in (
        shares_over_time("t", "x", "y", []),
        against_each_other("t", "x", "y", [Dots("a", ())]),
    ):
        assert svg_text(page).startswith("<svg")


def test_powers_are_written_out() -> None:
    assert [power_text(own) for own in (-6, -1, 0, 3)] == ["0.000001", "0.1", "1", "1,000"]
    assert pytest.approx(float(power_text(-6))) == LEAST


def test_long_names_below_bars_get_two_lines() -> None:
    assert in_two_lines("inverted-pendulum", 10, 60) == ["inverted-", "pendulum"]
    assert in_two_lines("one way line", 10, 40) == ["one", "way line"]
    assert in_two_lines("short-name", 10, 500) == ["short-name"]
    assert in_two_lines("unbreakable", 10, 10) == ["unbreakable"]
    chart = Chart("t", "x", "y", bins=("inverted-pendulum",) * 9, series=(Series("s", (1,) * 9),))
    texts = [s.text for s in chart.page().shapes if isinstance(s, Text)]
    assert texts.count("pendulum") == 9


def test_bars_on_their_side_have_room_for_names_and_values() -> None:
    names = ("inverted-pendulum-trees", "one-way-line")
    series = [Series("a", (50.0, 0.0)), Series("b", (25.0, 100.0))]
    page = bars_sideways("t", "row", "unsafe runs", names, series)
    texts = [s.text for s in page.shapes if isinstance(s, Text)]
    assert {*names, "a", "b", "50", "0", "25", "100", "unsafe runs"} <= set(texts)
    lengths = {
        s.title.rsplit(": ")[0]: s.width for s in page.shapes if isinstance(s, Box) and s.title
    }
    assert lengths["b, one-way-line"] == pytest.approx(2 * lengths[f"a, {names[0]}"])
    assert f"a, {names[1]}" not in lengths  # nothing has no bar, but its number
    ends = [s.x + s.width for s in page.shapes if isinstance(s, Box)]
    assert max(ends) + 30 < page.width
    assert svg_text(bars_sideways("t", "row", "runs", (), ())).startswith("<svg")
