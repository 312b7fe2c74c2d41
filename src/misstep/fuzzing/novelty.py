"""Novelty of states (P22), and the metric that goes with it."""

from __future__ import annotations

from collections.abc import Iterable

from misstep._core import NoveltyStore
from misstep.tasks.task import State, Task


def with_unique_pair(task: Task, states: Iterable[State], among: Iterable[State]) -> list[bool]:
    """Whether each state has a pair of facts that no other state of the set has. The states are part of the set."""
    counts = NoveltyStore(task, 2, counting=True)
    for state in among:
        counts.insert(state)
    return [counts.rarest(state) <= 1 for state in states]


__all__ = ["NoveltyStore", "with_unique_pair"]
