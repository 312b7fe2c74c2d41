"""The share of bugs with a unique pair of facts (P22), which measures how varied the bugs are."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from misstep.campaigns.metrics.sets import ratio
from misstep.campaigns.rows import Values


def unique_pair_fraction(
    bugs: Collection[Values], pool: Collection[Values] | None = None
) -> float | None:
    """The share of bug states with a pair of facts that no other state of the pool has.

    Without `pool`, the pair must not occur in any other bug state. The paper does not say which one it means; reports
    use the pool.
    """
    convicted = list(set(bugs))
    states = [*convicted, *set(pool or ()).difference(convicted)]
    return ratio(_with_unique_pair(states, len(convicted)), len(convicted))


def _with_unique_pair(states: list[Values], count: int) -> int:
    """How many of the first states have a pair of facts that occurs in no other one.

    A state of 50 variables has a thousand pairs, so they are counted in arrays, all states at once for two variables.
    """
    import numpy as np

    if not states:
        return 0
    # Of each variable: its values numbered in the order in which they come up, the number of each state, and how many
    # there are.
    columns = []
    for values in zip(*states, strict=True):
        numbers: dict[bool | int | float, int] = {}
        own = [numbers.setdefault(value, len(numbers)) for value in values]
        columns.append((np.array(own, dtype=np.int64), len(numbers)))
    found = np.zeros(len(states), dtype=bool)
    for (first, _), (second, size) in combinations(columns, 2):
        _, places, times = np.unique(first * size + second, return_index=True, return_counts=True)
        found[places[times == 1]] = True
    return int(found[:count].sum())
