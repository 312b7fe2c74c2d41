"""Exact intervals agree with the tails of the binomial distribution, added up term by term."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from misstep.binomial import clopper_pearson, share_of


def tail(count: int, total: int, share: float, *, upper: bool) -> float:
    """The probability of seeing so many or more (or fewer), exactly."""
    p = Fraction(share)
    seen = range(count, total + 1) if upper else range(count + 1)
    return float(sum(comb(total, k) * p**k * (1 - p) ** (total - k) for k in seen))


@pytest.mark.parametrize("total", [1, 2, 7, 40])
def test_the_ends_have_tails_of_two_and_a_half_percent(total: int) -> None:
    for count in range(total + 1):
        low, high = clopper_pearson(count, total)
        assert 0 <= low <= count / total <= high <= 1
        if count:
            assert tail(count, total, low, upper=True) == pytest.approx(0.025, rel=1e-9)
        if count < total:
            assert tail(count, total, high, upper=False) == pytest.approx(0.025, rel=1e-9)


def test_known_values() -> None:
    """None of n: 1 - 0.025^(1/n); the others by symmetry."""
    for total in (1, 10, 100, 100_000):
        low, high = clopper_pearson(0, total)
        assert low == 0
        assert high == pytest.approx(1 - 0.025 ** (1 / total), rel=1e-9)
        assert clopper_pearson(total, total) == pytest.approx((1 - high, 1.0), rel=1e-9)
    low, high = clopper_pearson(50_000, 100_000)
    assert low + high == pytest.approx(1)
    assert high - low == pytest.approx(2 * 1.96 * (0.25 / 100_000) ** 0.5, rel=0.01)


@pytest.mark.parametrize(("count", "total"), [(0, 0), (-1, 3), (4, 3)])
def test_what_is_no_share_is_refused(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        clopper_pearson(count, total)


def test_a_share_of_nothing_has_no_interval() -> None:
    nothing = share_of(0, 0)
    assert (nothing.value, nothing.low, nothing.high, str(nothing)) == (None, None, None, "-")
    assert str(share_of(1, 4)) == "25.0 % [0.6, 80.6]"
