"""Exact intervals agree with the tails of the binomial distribution, added up term by term."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from misstep.binomial import clopper_pearson, ends, percent, share_of


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


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 0, "0"),
        (1.0, 0, "100"),
        (0.004, 0, "<1"),
        (0.996, 0, ">99"),
        (0.0004, 1, "<0.1"),
        (0.9996, 1, ">99.9"),
        (0.5, 0, "50"),
        (0.994, 0, "99"),
    ],
)
def test_something_is_not_nothing_and_not_all(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text


def test_intervals_are_rounded_outwards() -> None:
    """1,000 of 1,000 do not prove that it is always so."""
    assert ends(*clopper_pearson(1000, 1000)) == "99, 100"
    assert ends(0.29, 0.29) == "29, 29"  # what is whole stays, also if 100 * 0.29 is not
    assert ends(-0.0004, 0.0004, 1, sign="+") == "-0.1, +0.1"
    assert str(share_of(2999, 3000)) == ">99.9 % [99.8, 100.0]"
    for total in (1, 9, 130, 2000):
        for count in range(0, total + 1, max(1, total // 9)):
            low, high = clopper_pearson(count, total)
            told = [float(own) / 100 for own in ends(low, high, 1).split(", ")]
            assert told[0] <= low + 1e-9
            assert told[1] >= high - 1e-9
