"""Oracle coverage (P24): the share of bugs among the states that a bias found, with pools of equal size.

A fast bias makes a larger pool. So for each task all pools are cut to the size of the smallest one, keeping the states
that were found first; then coverage = bugs / states over the whole domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import ratio


@dataclass(frozen=True, slots=True)
class TestedPool:
    """A pool: its size (it may exceed the number of tested states), and the numbers of the states that are bugs."""

    __test__ = False

    size: int
    bugs: tuple[int, ...]

    def bugs_before(self, size: int) -> int:
        return sum(number < size for number in self.bugs)


@dataclass(frozen=True, slots=True)
class Coverage:
    states: int
    bugs: int
    coverage: float | None


def oracle_coverage(pools: Mapping[str, Mapping[str, TestedPool]]) -> dict[str, Coverage]:
    """Coverage of each bias, from `pools[bias][task]`. A task without a pool for some bias is cut to 0 states."""
    tasks = {task for by_task in pools.values() for task in by_task}
    empty = TestedPool(0, ())
    sizes = {task: min(p.get(task, empty).size for p in pools.values()) for task in tasks}
    states = sum(sizes.values())
    result = {}
    for bias, by_task in pools.items():
        bugs = sum(by_task[task].bugs_before(size) for task, size in sizes.items() if size)
        result[bias] = Coverage(states, bugs, ratio(bugs, states))
    return result
