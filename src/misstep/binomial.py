"""Exact confidence intervals for shares, by the method of Clopper and Pearson.

Suppose that k of n tested states are bugs. The interval contains every share p of bugs that this observation does not
contradict: every p for which "k or more" and "k or fewer" both have at least a probability of 2.5 %. The tails of the
binomial distribution are values of the regularised incomplete beta function, so the two ends of the interval are its
quantiles. The interval holds for any n and any p, also where the usual formula with a square root says [0, 0].

It treats the states as independent draws. States of one task are alike, so for a claim about *tasks* the paired tests
of `misstep.comparison.statistics` are the ones to read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CONFIDENCE = 0.95
_HALVINGS = 60
_TERMS = 10_000
_TINY = 1e-300


@dataclass(frozen=True)
class Share:
    """A count out of a total, with the share and its exact 95 % interval; these are None if the total is 0."""

    count: int
    total: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        return self.count / self.total if self.total else None

    def as_dict(self) -> dict[str, float | int | None]:
        rounded = [None if x is None else round(x, 6) for x in (self.value, self.low, self.high)]
        share, low, high = rounded
        return {"count": self.count, "total": self.total, "share": share, "low": low, "high": high}

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "-"
        return f"{percent(self.value, 1)} % [{ends(self.low, self.high, 1)}]"


def percent(share: float, digits: int = 0) -> str:
    """A share in percent, which is never 0 for something and never 100 for less than all."""
    text = f"{100 * share:.{digits}f}"
    if 0 < share < 1 and float(text) in (0, 100):
        step = 10.0**-digits
        return f"<{step:.{digits}f}" if share < 0.5 else f">{100 - step:.{digits}f}"
    return text


def ends(low: float, high: float, digits: int = 0, between: str = ", ", sign: str = "") -> str:
    """An interval in percent, rounded outwards: the text contains every number that the interval contains."""
    scale = 100 * 10**digits
    down = math.floor(low * scale + 1e-9) / 10**digits
    up = math.ceil(high * scale - 1e-9) / 10**digits
    return f"{down:{sign}.{digits}f}{between}{up + 0.0:{sign}.{digits}f}"


def share_of(count: int, total: int) -> Share:
    """A share with its interval."""
    if total == 0:
        return Share(count, total, None, None)
    return Share(count, total, *clopper_pearson(count, total))


def clopper_pearson(count: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a share that was seen `count` times in `total` draws."""
    if not 0 <= count <= total or total == 0:
        raise ValueError(f"{count} of {total} is not a share")
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else _quantile(tail, count, total - count + 1)
    high = 1.0 if count == total else _quantile(1 - tail, count + 1, total - count)
    return low, high


def _quantile(probability: float, a: int, b: int) -> float:
    """The place where the beta distribution function reaches a probability, found by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(x: float, a: int, b: int) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction below converges quickly
        return 1 - _beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: int, b: int) -> float:
    """The continued fraction of the incomplete beta function, by the method of Lentz."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


__all__ = ["CONFIDENCE", "Share", "clopper_pearson", "ends", "percent", "share_of"]
