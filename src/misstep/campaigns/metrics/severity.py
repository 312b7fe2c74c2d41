"""How bad the bugs are: histograms of gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import mean
from misstep.campaigns.records import TestedState

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


def severity(tested: Iterable[TestedState], *, proven: bool = True) -> Severity:
    """Of all bugs; by the proven (low) end of each gap, or the high end of what is possible."""
    absolute = dict.fromkeys(ABSOLUTE_BINS, 0)
    relative = dict.fromkeys(RELATIVE_BINS, 0)
    gaps, shares = [], []
    for state in tested:
        if not state.is_bug:
            continue
        gap = state.gap[0 if proven else 1]
        if gap is None:
            absolute["inf"] += 1
            continue
        absolute[ABSOLUTE_BINS[_bin(gap)]] += 1
        gaps.append(gap)
        if state.policy_cost:
            percent = 100 * gap / state.policy_cost
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
