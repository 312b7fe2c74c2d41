"""The figures of an experiment: bars, shares or numbers over time, and scatter plots of two methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan

from misstep.experiments.expressions import Condition, Observation, Summary, Value
from misstep.experiments.kinds import Json
from misstep.experiments.observations import Gathered, grouped
from misstep.experiments.tables import over_seeds
from misstep.reports.escaping import slug, visible
from misstep.reports.figures.charts import Chart, Curve, Series
from misstep.reports.figures.logarithmic import Dots, against_each_other, shares_over_time
from misstep.reports.figures.shapes import Page
from misstep.reports.figures.sideways import bars_sideways

Rows = list[dict[str, Value]]


def make_figures(own: Json, gathered: Gathered) -> Iterator[tuple[str, Page]]:
    """The pages of a figure with their names: one, or one for each value of its panels."""
    found = gathered.observations[own["step"]]
    if own["where"] is not None:
        condition = Condition(own["where"])
        found = [one for one in found if condition.holds(one)]
    if own["panels"] is None:
        yield own["name"], _page(own, found, own["title"])
        return
    for (value,), group in grouped(found, [own["panels"]]).items():
        name = f"{own['name']}-{slug(str(value)) or 'none'}"
        yield name, _page(own, group, f"{own['title']}: {visible(str(value))}")


def _page(own: Json, found: Rows, title: str) -> Page:
    make = {"bars": _bars, "curves": _curves, "growth": _growth, "scatter": _scatter}
    return make[own["type"]](own, found, title)


def _series(own: Json, found: Rows) -> dict[str, Rows]:
    groups = grouped(found, own["series"])
    return {", ".join(map(_named, zip(own["series"], key, strict=True))): g for key, g in groups.items()}  # fmt: skip


def _named(pair: tuple[str, Value]) -> str:
    name, value = pair
    # A number says little without the name of its column.
    short = isinstance(value, (int, float)) or str(value)[:1].isdigit() or value == "inf"
    return f"{name} {visible(str(value))}" if short else visible(str(value))


def _bars(own: Json, found: Rows, title: str) -> Page:
    bins = list(dict.fromkeys(one.get(own["bins"]) for one in found))
    summary = Summary(own["value"])
    series = []
    for label, group in _series(own, found).items():
        by_bin = grouped(group, [own["bins"]])
        means = [over_seeds(summary, by_bin.get((value,), [])).mean for value in bins]
        numbers = (_number(own) for own in means)
        series.append(Series(label, tuple(nan if own is None else own for own in numbers)))
    names = tuple(visible(str(value)) for value in bins)
    y_title = own["value_title"] or own["value"]
    return bars_sideways(title, own["bins"], y_title, names, series)


def _curves(own: Json, found: Rows, title: str) -> Page:
    value, reached = Condition(own["value"]), Condition(own["reached"])
    curves = []
    longest = max(_numbers(value, found), default=1.0)
    for label, group in _series(own, found).items():
        times = sorted(_numbers(value, reached.pick(group)))
        points = tuple((x, 100 * (k + 1) / len(group)) for k, x in enumerate(times))
        curves.append(Curve(label, points, longest))
    x_title = own["value_title"] or own["value"]
    y_title = own["reached_title"] or f"% with {own['reached']}"
    return shares_over_time(title, x_title, y_title, curves)


def _growth(own: Json, found: Rows, title: str) -> Page:
    """How many have been reached by a time; for several seeds, the mean."""
    value, reached = Condition(own["value"]), Condition(own["reached"])
    ends = max(_numbers(value, found), default=1.0)
    curves = []
    for label, group in _series(own, found).items():
        seeds = len(grouped(group, ["seed"]))
        times = sorted(_numbers(value, reached.pick(group)))
        points = tuple((x, (k + 1) / seeds) for k, x in enumerate(times))
        curves.append(Curve(label, points, ends))
    x_title = own["value_title"] or own["value"]
    y_title = own["reached_title"] or f"number with {own['reached']}"
    return Chart(title, x_title, y_title, curves=tuple(curves)).page()


def _scatter(own: Json, found: Rows, title: str) -> Page:
    summary = Summary(own["value"])
    series = _series(own, found)
    across = own["against"]
    base = _by_pair(own["by"], series.get(across, []), summary)
    groups = []
    for label, group in series.items():
        if label != across:
            other = _by_pair(own["by"], group, summary)
            points = tuple((base[key], other[key]) for key in base if key in other)
            groups.append(Dots(label, points))
    what = own["value_title"] or own["value"]
    return against_each_other(title, f"{what}, {across}", what, groups)


def _by_pair(by: Sequence[str], found: Rows, summary: Summary) -> dict[tuple[Value, ...], float]:
    numbers = {key: _number(summary(group)) for key, group in grouped(found, by).items()}
    return {key: number for key, number in numbers.items() if number is not None}


def _numbers(value: Condition, found: Iterable[Observation]) -> list[float]:
    """The values that are known."""
    numbers = (_number(value(one)) for one in found)
    return [number for number in numbers if number is not None]


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


__all__ = ["make_figures"]
