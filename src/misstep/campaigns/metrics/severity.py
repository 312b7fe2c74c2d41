"""How bad the bugs are: histograms of gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import mean
from misstep.campaigns.records import Record

_EDGES = (5, 10, 20, 50, 100)
ABSOLUTE_BINS = ("<5", "5-10", "10-20", "20-50", "50-100", ">=100", "inf")
RELATIVE_BINS = ("<5%", "5-10%", "10-20%", "20-50%", "50-100%")


@dataclass(frozen=True, slots=True)
class Severity:
    """Counts of bugs by gap; a bin begins with its lower edge and ends before its upper edge."""

    absolute: dict[str, int]
    relative: dict[str, int]
    """Gap in percent of the policy's cost, for bugs where both are finite; 100 % is in the last bin."""
    max_gap: int | None
    mean_gap: float | None
    max_relative: float | None
    mean_relative: float | None
    """Maxima and means are over finite gaps."""


def severity(records: Iterable[Record], *, proven: bool = True) -> Severity:
    """The severity of all bugs of planning tasks, by the proven lower end of each gap, or by its upper end."""
    absolute = dict.fromkeys(ABSOLUTE_BINS, 0)
    relative = dict.fromkeys(RELATIVE_BINS, 0)
    gaps, shares = [], []
    for record in records:
        if not record.is_bug or record.gap is None:
            continue
        gap = record.gap[0 if proven else 1]
        if gap is None:
            absolute["inf"] += 1
            continue
        absolute[ABSOLUTE_BINS[_bin(gap)]] += 1
        gaps.append(gap)
        if record.run.outcome == "goal" and record.run.cost:
            percent = 100 * gap / record.run.cost
            relative[RELATIVE_BINS[min(_bin(percent), len(RELATIVE_BINS) - 1)]] += 1
            shares.append(percent)
    return Severity(
        absolute,
        relative,
        max(gaps, default=None),
        mean(gaps),
        max(shares, default=None),
        mean(shares),
    )


def _bin(value: float) -> int:
    return sum(value >= edge for edge in _EDGES)
