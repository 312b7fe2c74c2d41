"""The figures of campaigns.

over-time  bugs that were known after so many seconds of work: a curve for each campaign, or for each oracle
severity   bugs by gap, or of models by radius
depth      states by how far from the start they were found: all that were tested, and the bugs among them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from misstep.campaigns.metrics.severity import ABSOLUTE_BINS
from misstep.campaigns.records import Record
from misstep.errors import UsageError
from misstep.reports.exports.files import write_files
from misstep.reports.exports.tables import Source
from misstep.reports.figures.charts import Chart, Curve, Series
from misstep.reports.figures.pdf import pdf_bytes
from misstep.reports.figures.svg import svg_text
from misstep.tasks.parameters import did_you_mean

_MOST_BINS = 12
ENDINGS = (".svg", ".pdf")


def _over_time(given: Sequence[Source]) -> Chart:
    if len(given) == 1 and len(given[0].oracles) > 1:
        source = given[0]
        curves = [Curve("all oracles", tuple(source.over_time()), source.end)]
        curves += [
            Curve(oracle, tuple(source.over_time(oracle)), source.end) for oracle in source.oracles
        ]
    else:
        curves = [Curve(own.label, tuple(own.over_time()), own.end) for own in given]
    return Chart(
        _title("Bugs over time", given),
        "seconds of work on each task",
        "bugs found",
        tuple(curves),
    )


def _severity(given: Sequence[Source]) -> Chart:
    planning = any(source.metrics["severity"] is not None for source in given)
    models = any(source.metrics["radius"] is not None for source in given)
    if planning and models:
        raise UsageError(
            "gaps of plans and radii of models do not go into one figure",
            expected="campaigns on planning tasks, or campaigns on models",
        )
    if planning:
        bins, counts = ABSOLUTE_BINS, [source.metrics["severity"]["absolute"] for source in given]
        names = tuple("fails" if name == "inf" else name for name in bins)
        what = "gap: what the policy spends beyond the best plan known"
    else:
        counts = [source.metrics["radius"] for source in given]
        bins = tuple(sorted({name for own in counts for name in own}, key=float))
        names = tuple("more" if name == "inf" else f"at least {name}" for name in bins)
        what = "radius: deviations from the policy that avoid unsafe states"
    series = [
        Series(source.label, tuple(own.get(name, 0) for name in bins))
        for source, own in zip(given, counts, strict=True)
    ]
    return Chart(_title("Severity of bugs", given), what, "bugs", bins=names, series=tuple(series))


def _depth(given: Sequence[Source]) -> Chart:
    tested = [[d for r in own.campaign.records if (d := depth(r)) is not None] for own in given]
    bugs = [[d for r in own.campaign.bugs if (d := depth(r)) is not None] for own in given]
    names, edges = _bins(max((d for own in tested for d in own), default=0))
    if len(given) == 1:
        series = [
            Series("tested", _counts(tested[0], edges)),
            Series("bugs", _counts(bugs[0], edges)),
        ]
        what = "states"
    else:
        series = [
            Series(source.label, _counts(own, edges))
            for source, own in zip(given, bugs, strict=True)
        ]
        what = "bugs"
    where = "steps from the start at which the state was found"
    return Chart(_title("Depth of states", given), where, what, bins=names, series=tuple(series))


def depth(record: Record) -> int | None:
    """How many steps lead to the state from the start, in the way that it was found; None: not known."""
    if record.found.walk is not None:
        return len(record.found.walk.operators)
    return record.found.step


def _bins(largest: int) -> tuple[tuple[str, ...], list[int]]:
    """Names, and where each bin begins; the last edge is behind all."""
    size = -(-(largest + 1) // _MOST_BINS)
    count = -(-(largest + 1) // size)
    edges = [k * size for k in range(count + 1)]
    names = tuple(
        str(first) if size == 1 else f"{first}-{first + size - 1}" for first in edges[:-1]
    )
    return names, edges


def _counts(depths: Sequence[int], edges: Sequence[int]) -> tuple[float, ...]:
    counts = [0] * (len(edges) - 1)
    for own in depths:
        counts[own // edges[1]] += 1
    return tuple(counts)


def _title(what: str, given: Sequence[Source]) -> str:
    return f"{what}: {given[0].label}" if len(given) == 1 else what


FIGURES: dict[str, Callable[[Sequence[Source]], Chart]] = {
    "over-time": _over_time,
    "severity": _severity,
    "depth": _depth,
}


def chart(name: str, given: Sequence[Source]) -> Chart:
    """The figure of that name, to be laid out."""
    if name not in FIGURES:
        raise UsageError(
            f"no figure {name!r}",
            expected=", ".join(FIGURES),
            hint=did_you_mean(name, list(FIGURES)),
        )
    return FIGURES[name](given)


def write_figure(
    name: str, given: Sequence[Source], path: Path, *, force: bool = False
) -> list[Path]:
    """Draw a figure into a file, which is SVG or PDF by the ending of its name."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{path.name!r:.80} is neither SVG nor PDF", expected="a name that ends in .svg or .pdf"
        )
    page = chart(name, given).page()
    pdf = path.suffix.lower() == ".pdf"
    content = pdf_bytes(page) if pdf else svg_text(page).encode(errors="backslashreplace")
    return write_files({path: content}, force=force)


__all__ = ["ENDINGS", "FIGURES", "chart", "depth", "write_figure"]
