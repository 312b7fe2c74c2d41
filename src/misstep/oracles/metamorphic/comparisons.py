"""What the metamorphic oracles need of a dominance function: values, an index over many states, morphs.

D(s,t) <= h*(s) - h*(t) for all s that have a plan; None stands for minus infinity, no information. The computed
functions are in `misstep.oracles.dominance`; anything else that keeps this contract will do as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misstep.checking.dominance import Values
from misstep.policies.policy import States
from misstep.tasks.task import State


class Part(Protocol):
    """What one factor contributes to a value."""

    @property
    def variables(self) -> Sequence[int]: ...

    @property
    def value(self) -> int: ...


class Index(Protocol):
    """States with upper bounds, compared with one or many others at once."""

    def copy(self) -> Index:
        """A copy with the same states and bounds."""

    def add(self, state: State) -> int:
        """Take a state in, with an infinite bound. Returns its row: 0, 1, 2, ..."""

    def add_batch(self, states: States) -> NDArray[np.uint32]:
        """The same for many states."""

    def set_bounds(self, bounds: NDArray[np.int64]) -> None:
        """The bounds of all rows, in order, -1 where there is none; one that is not better changes nothing."""

    def pull_batch(self, dominating: States) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each state t the smallest u(s) - D(s,t) over the rows s, and that row; -1 and -1: there is none."""

    def push(self, dominated: State, bound: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows t with bound - D(dominated,t) < u(t), and these better bounds, which they now have."""


class Dominance(Protocol):
    """A dominance function of a task."""

    def value(self, dominated: State, dominating: State) -> int | None: ...

    def by_factor(self, dominated: State, dominating: State) -> Sequence[Part]:
        """The summands that the value is made of."""

    def independent(self) -> Values:
        """The same function as the independent checker reads it."""

    def index(self) -> Index: ...

    def morphs(self, dominating: State) -> list[tuple[State, int]]:
        """States s that differ from t in one variable, with D(s,t), the largest values first."""


__all__ = ["Dominance", "Index", "Part"]
