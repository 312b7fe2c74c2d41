"""The replay buffer: the latest transitions, from which minibatches are drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep.training.qlearning.environments import Masks, Rows, Transitions


class Batch(NamedTuple):
    before: Rows
    labels: NDArray[np.int64]
    rewards: NDArray[np.float32]
    after: Rows
    after_masks: Masks
    terminal: NDArray[np.bool_]

    def columns(self) -> tuple[NDArray[Any], ...]:
        """All of them, whatever they hold."""
        return (
            self.before,
            self.labels,
            self.rewards,
            self.after,
            self.after_masks,
            self.terminal,
        )


class Replay:
    """A ring: a new transition replaces the oldest one."""

    def __init__(self, capacity: int, inputs: int, labels: int) -> None:
        self.capacity = capacity
        self.added = 0
        self.data = Batch(
            np.zeros((capacity, inputs), np.float32),
            np.zeros(capacity, np.int64),
            np.zeros(capacity, np.float32),
            np.zeros((capacity, inputs), np.float32),
            np.zeros((capacity, labels), np.bool_),
            np.zeros(capacity, np.bool_),
        )

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, before: Rows, labels: NDArray[np.int64], step: Transitions) -> None:
        places = np.arange(self.added, self.added + len(labels)) % self.capacity
        new = Batch(before, labels, step.rewards, step.after, step.after_masks, step.terminal)
        for column, values in zip(self.data.columns(), new.columns(), strict=True):
            column[places] = values
        self.added += len(labels)

    def sample(self, size: int, random: np.random.Generator) -> Batch:
        rows = random.integers(len(self), size=size)
        own = self.data
        return Batch(
            own.before[rows],
            own.labels[rows],
            own.rewards[rows],
            own.after[rows],
            own.after_masks[rows],
            own.terminal[rows],
        )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        columns = zip(Batch._fields, self.data.columns(), strict=True)
        return {name: column[: len(self)] for name, column in columns}

    def restore(self, arrays: dict[str, NDArray[np.generic]], added: int) -> None:
        self.added = added
        for name, column in self.arrays().items():
            if arrays[name].shape != column.shape:
                raise ValueError(f"the transitions have {name} of the shape {arrays[name].shape}")
            np.copyto(column, arrays[name], casting="no")

    def check(self) -> None:
        """Raise a `ValueError` unless these can be transitions of the model, after `restore` from a file."""
        own = self.data
        numbers = (own.before, own.after, own.rewards)
        labels = own.after_masks.shape[1]
        if not all(np.isfinite(column).all() for column in numbers):
            raise ValueError("a number of a transition is not finite")
        if ((own.labels < 0) | (own.labels >= labels)).any():
            raise ValueError("a transition has a label that the model does not have")


__all__ = ["Batch", "Replay"]
