"""The training data: states with their good decisions.

A sample is a state of one of the training tasks and the set of operators that are right there: all optimal ones if the
teacher knows them, or the one of its plan. Its weight says how often it is drawn in comparison with the others of its
task. The first label of a state is kept; a later one with a larger weight only raises the weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from misstep.tasks.task import State, Task


class Sample(NamedTuple):
    state: State
    good: tuple[int, ...]  # operators, increasing
    weight: float = 1.0


@dataclass
class TaskSamples:
    """The samples of one task, in the order in which they were added, and the states that the teacher gave up on."""

    samples: list[Sample] = field(default_factory=list)
    failed: list[State] = field(default_factory=list)
    _place: dict[State, int] = field(default_factory=dict)
    _failed: set[State] = field(default_factory=set)
    asked: set[State] = field(default_factory=set)  # also those with only one applicable operator

    def __len__(self) -> int:
        return len(self.samples)

    def __contains__(self, state: State) -> bool:
        return state in self._place or state in self._failed or state in self.asked

    def add(self, sample: Sample) -> bool:
        """False if the state was known."""
        place = self._place.get(sample.state)
        if place is not None:
            if sample.weight > self.samples[place].weight:
                self.samples[place] = self.samples[place]._replace(weight=sample.weight)
            return False
        self._place[sample.state] = len(self.samples)
        self.samples.append(sample)
        return True

    def give_up(self, state: State) -> None:
        if state not in self._failed:
            self._failed.add(state)
            self.failed.append(state)


class Samples:
    """The data of all tasks. It only grows, so the data that an epoch added is everything after a mark."""

    def __init__(self, tasks: Sequence[Task], *, single: bool = False) -> None:
        self.tasks = list(tasks)
        self.single = single  # whether states with one applicable operator count
        self.per_task = [TaskSamples() for _ in tasks]

    def __len__(self) -> int:
        return sum(map(len, self.per_task))

    def __getitem__(self, task: int) -> TaskSamples:
        return self.per_task[task]

    def add(self, task: int, sample: Sample) -> bool:
        """Add a sample, unless its state has only one applicable operator and such states do not count."""
        if not self.single and len(self.tasks[task].applicable(sample.state)) < 2:
            return False
        return self.per_task[task].add(sample)

    def add_all(self, task: int, samples: Iterable[Sample]) -> int:
        return sum(self.add(task, sample) for sample in samples)

    def mark(self) -> list[tuple[int, int]]:
        return [(len(own.samples), len(own.failed)) for own in self.per_task]

    def since(self, mark: Sequence[tuple[int, int]]) -> list[tuple[list[Sample], list[State]]]:
        """The data after the mark, task by task."""
        return [
            (own.samples[samples:], own.failed[failed:])
            for own, (samples, failed) in zip(self.per_task, mark, strict=True)
        ]


__all__ = ["Sample", "Samples", "TaskSamples"]
