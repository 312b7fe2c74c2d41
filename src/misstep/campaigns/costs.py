"""Estimates of the time that tasks need, so that long tasks start first.

The rounds of a task follow each other, so the last task to end is usually a long one that started late. For a stage
that has begun, the estimate is the number of remaining parts times the time per part so far. Otherwise tasks are
compared by the size of their stored source. No record depends on these estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from misstep.campaigns.store import Store
from misstep.campaigns.units import Stage


def task_sizes(store: Store) -> dict[str, int]:
    """The stored size of each task in bytes: a rough measure of difficulty, but one that costs nothing."""
    return {name: size or 0 for name, size in store.rows("SELECT name, length(source) FROM tasks")}


class Costs:
    """Expected seconds, from sizes of tasks and what their units have taken so far."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._seconds: dict[str, float] = {}
        self._units: dict[str, int] = {}
        self._stages: dict[tuple[str, str], tuple[float, int]] = {}

    def order(self, tasks: Sequence[str]) -> list[str]:
        """Long tasks first; among equals as they were given."""
        return sorted(tasks, key=lambda task: -self._sizes.get(task, 0))

    def see(self, task: str, stage: str, seconds: float) -> None:
        """Note how long a unit took."""
        self._seconds[task] = self._seconds.get(task, 0.0) + seconds
        self._units[task] = self._units.get(task, 0) + 1
        spent, units = self._stages.get((task, stage), (0.0, 0))
        self._stages[task, stage] = spent + seconds, units + 1

    def left(self, task: str, stage: Stage, units: int) -> float:
        """Seconds that the stage of a task still needs, if `units` of its round are not done."""
        spent, ended = self._stages.get((task, stage.name), (0.0, 0))
        done, total = stage.progress()
        if ended and done and total is not None:
            return max(spent / ended * units, spent / done * max(0, total - done))
        return units * self._unit(task)

    def _unit(self, task: str) -> float:
        """Seconds of one unit."""
        if self._units.get(task):
            return self._seconds[task] / self._units[task]
        units, sizes = sum(self._units.values()), self._sizes
        weight = sum(sizes.get(own, 1) * count for own, count in self._units.items())
        rate = sum(self._seconds.values()) / weight if units and weight else 1.0
        return rate * max(1, sizes.get(task, 1))


__all__ = ["Costs", "task_sizes"]
