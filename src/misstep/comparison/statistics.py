"""Statistical tests of whether one policy is better than another, over tasks, because states of one task are alike.

Confidence intervals come from the bootstrap: tasks are drawn with replacement, and every number is computed again from
the drawn tasks; the interval lies between the 2.5 % and the 97.5 % quantile. Policies are compared in pairs, task by
task: if both were equally good, the sign of each difference would be random. The p-value is the share of sign patterns
with a sum at least as large as the observed one (a permutation test, exact for few tasks). The best policy is compared
with all others. Which policy is the best is seen from the same tasks, so p-values are corrected by Holm's method for
all pairs of policies: otherwise the best of twenty equal policies would be called better in one of six cases. A
difference is significant if the corrected value is below 5 %; with fewer than six tasks that differ it never is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom

RESAMPLES = 2000
EXACT_TASKS = 14  # so many differing tasks have 2^14 sign patterns
PATTERNS = 20_000
SIGNIFICANT = 0.05
ENOUGH_TASKS = 6  # 2 / 2^5 sign patterns are more than 5 %, 2 / 2^6 are less


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % confidence interval."""

    value: float | None
    low: float | None
    high: float | None

    def as_list(self) -> list[float | None]:
        return [None if x is None else round(x, 6) for x in (self.value, self.low, self.high)]


@dataclass(frozen=True)
class PairedComparison:
    """The first policy against the second: the mean difference over tasks, and its p-value."""

    better: int
    worse: int
    difference: Interval
    p_value: float
    corrected: float

    @property
    def significant(self) -> bool:
        """Whether the first policy is significantly better."""
        return self.corrected < SIGNIFICANT and (self.difference.value or 0) > 0

    @property
    def contrary(self) -> bool:
        """Whether it is significantly worse: a ranking by something else than this mean may put it first."""
        return self.corrected < SIGNIFICANT and (self.difference.value or 0) < 0


def resamples(tasks: int, seed: int, count: int = RESAMPLES) -> list[list[int]]:
    """Draws of tasks with replacement, the same for every policy."""
    random = CounterRandom(seed)
    return [[random.below(tasks) for _ in range(tasks)] for _ in range(count)]


def interval(value: float | None, drawn: Sequence[float | None]) -> Interval:
    known = sorted(x for x in drawn if x is not None)
    if value is None or not known:
        return Interval(value, None, None)
    low = known[int(0.025 * (len(known) - 1))]
    high = known[-1 - int(0.025 * (len(known) - 1))]
    return Interval(value, min(low, value), max(high, value))


def bootstrap(
    measure: Callable[[Sequence[int]], float | None], tasks: int, draws: Sequence[Sequence[int]]
) -> Interval:
    """A statistic of the tasks with its confidence interval."""
    return interval(measure(range(tasks)), [measure(draw) for draw in draws])


def sign_flip_p(differences: Sequence[float], seed: int) -> float:
    """How often random signs give a sum at least as far from 0 as the observed one."""
    values = np.array([d for d in differences if d != 0])
    if len(values) == 0:
        return 1.0
    seen = abs(values.sum()) - 1e-12
    signs = _signs(len(values), seed if len(values) > EXACT_TASKS else 0)
    hits = np.abs(signs @ values) >= seen
    if len(values) <= EXACT_TASKS:
        return float(np.mean(hits))
    return (int(np.count_nonzero(hits)) + 1) / (PATTERNS + 1)


@lru_cache(64)  # drawing them takes longer than the test itself, and many tests are of one size
def _signs(count: int, seed: int) -> NDArray[np.int8]:
    """All sign patterns, or random ones if there are too many."""
    if count <= EXACT_TASKS:
        return np.array(list(itertools.product((-1, 1), repeat=count)), np.int8)
    random = CounterRandom(seed)
    bits = [[random.next() & 1 for _ in range(count)] for _ in range(PATTERNS)]
    return np.asarray(2 * np.array(bits, np.int8) - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the probability of any false positive among all tests stays below the level."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: (p_values[i], i))):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = largest
    return corrected


def compare_with_best(
    quality: NDArray[np.float64], best: int, seed: int, draws: Sequence[Sequence[int]]
) -> list[PairedComparison]:
    """Compare the best policy with each other one; `quality` has a row per policy and a column per task."""
    pairs = list(itertools.combinations(range(len(quality)), 2))
    p_values = [sign_flip_p((quality[i] - quality[j]).tolist(), seed) for i, j in pairs]
    sure = dict(zip(pairs, zip(p_values, holm(p_values), strict=True), strict=True))
    found = []
    for i in range(len(quality)):
        if i == best:
            continue
        differences = quality[best] - quality[i]
        drawn = [float(differences[list(draw)].mean()) for draw in draws]
        difference = interval(float(differences.mean()), drawn)
        found.append(PairedComparison(best, i, difference, *sure[min(i, best), max(i, best)]))
    return found


__all__ = [
    "ENOUGH_TASKS",
    "Interval",
    "PairedComparison",
    "bootstrap",
    "compare_with_best",
    "holm",
    "resamples",
]
