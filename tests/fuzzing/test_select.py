"""The weighted choice agrees with its definition: chi-square tests at fixed seeds, and the exact rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep._core import CounterRandom
from misstep.fuzzing.select import weighted_select

INF = math.inf
DRAWS = 20_000
# 99.9 % quantiles of the chi-square distribution, by degrees of freedom.
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47}

CASES = [
    ([1, 3], [0.25, 0.75]),
    ([-5, 1, 4], [0, 0.4, 0.6]),
    ([1, -INF, 3], [0.25, 0, 0.75]),
    ([-INF, 1, 3], [0, 0.25, 0.75]),
    ([5, INF, -2, INF], [0, 0.5, 0, 0.5]),
    ([0, 0, 0], [1 / 3] * 3),
    ([-7, -7], [0.5, 0.5]),
    ([-7, -INF, -7], [0.5, 0, 0.5]),
    ([4, 4, 4, 4, 4], [0.2] * 5),
    ([0, 2, 0, 6], [0, 0.25, 0, 0.75]),
    ([INF, -INF], [1, 0]),
    ([-3], [1]),
]


def counts(weights: list[float], share: float = 0.0) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    random = CounterRandom(17)
    array = np.array(weights, dtype=np.float64)
    drawn = [weighted_select(array, random, share) for _ in range(DRAWS)]
    return np.bincount(drawn, minlength=len(weights)).astype(np.int64)


def check(seen: np.ndarray[tuple[int], np.dtype[np.int64]], expected: list[float]) -> None:
    likely = np.array(expected) * DRAWS
    assert (seen[likely == 0] == 0).all()
    possible = likely > 0
    chi_square = float((((seen - likely) ** 2)[possible] / likely[possible]).sum())
    freedom = int(possible.sum()) - 1
    assert chi_square == 0 if freedom == 0 else chi_square < CRITICAL[freedom]


@pytest.mark.parametrize(("weights", "expected"), CASES)
def test_frequencies(weights: list[float], expected: list[float]) -> None:
    check(counts(weights), expected)


@pytest.mark.parametrize("weights", [[], [-INF], [-INF, -INF]])
def test_nothing_to_select(weights: list[float]) -> None:
    array = np.array(weights, dtype=np.float64)
    assert weighted_select(array, CounterRandom(1)) == -1
    assert weighted_select(array, CounterRandom(1), 1.0) == -1


def test_the_uniform_share_reaches_weights_of_zero() -> None:
    check(counts([0, 1], 0.5), [0.25, 0.75])
    check(counts([0, INF, -INF], 0.2), [0.1, 0.9, 0])
    check(counts([-5, 1, 4], 1.0), [1 / 3] * 3)


def test_large_weights_lose_nothing() -> None:
    check(counts([2.0**36, 2.0**36]), [0.5, 0.5])
    check(counts([-(2.0**36), 0, 0]), [0, 0.5, 0.5])
