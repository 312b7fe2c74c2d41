"""The share of bugs with a unique pair of facts (P22), which measures how varied the bugs are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations

from misstep.campaigns.metrics.sets import ratio
from misstep.campaigns.rows import Values

_Fact = tuple[int, bool | int | float]


def unique_pair_fraction(
    bugs: Collection[Values], pool: Collection[Values] | None = None
) -> float | None:
    """The share of bug states with a pair of facts that no other state of the pool has.

    Without `pool`, the pair must not occur in any other bug state. The paper does not say which one it means; reports
    use the pool.
    """
    convicted = set(bugs)
    counts = Counter(pair for state in convicted.union(pool or ()) for pair in _pairs(state))
    unique = sum(any(counts[pair] == 1 for pair in _pairs(state)) for state in convicted)
    return ratio(unique, len(convicted))


def _pairs(state: Values) -> Iterator[tuple[_Fact, _Fact]]:
    return combinations(enumerate(state), 2)
