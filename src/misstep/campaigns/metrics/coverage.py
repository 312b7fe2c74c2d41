"""Oracle coverage (P24): bugs among the states that a bias found, on equal terms.

A bias that is fast makes a larger pool. So for each task all pools are cut to the size of the smallest one, as prefixes
in the order of generation; then coverage = bugs / states over the whole domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import ratio


@dataclass(frozen=True, slots=True)
class TestedPool:
    """One pool: its size, which may exceed what was tested, and the numbers of the states that are bugs."""

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
    """Coverage of each bias; `pools[bias][task]`. A task that some bias has no pool for counts as cut to 0."""
    tasks = {task for by_task in pools.values() for task in by_task}
    empty = TestedPool(0, ())
    sizes = {task: min(p.get(task, empty).size for p in pools.values()) for task in tasks}
    states = sum(sizes.values())
    result = {}
    for bias, by_task in pools.items():
        bugs = sum(by_task[task].bugs_before(size) for task, size in sizes.items() if size)
        result[bias] = Coverage(states, bugs, ratio(bugs, states))
    return result
