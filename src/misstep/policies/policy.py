"""The one protocol that every policy speaks.

A policy is bound to a task and answers batches: states in, a row each, operators out. It must be a function of
the state: the policy graph asks once per state and remembers, so an answer that depended on anything
else (the batch, the order, an earlier call) would make runs impossible to reproduce. Where a policy cannot
answer, it says so row by row, with a message; it raises only if the whole policy is unusable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UnsupportedError
from misstep.tasks.task import Task

States = NDArray[np.int32]  # shape (n, variables)
Operators = NDArray[np.int32]  # shape (n,)

# In place of an operator.
NO_ACTION = -1  # the policy is content to stop
FAILED = -2  # the policy did not answer; a message says why


class Candidates(NamedTuple):
    """The operators to choose from: those of row i are `operators[offsets[i]:offsets[i + 1]]`, increasing."""

    offsets: NDArray[np.int64]
    operators: NDArray[np.int32]


@dataclass
class Answers:
    """What a policy says to a batch."""

    operators: Operators
    messages: dict[int, str] = field(default_factory=dict)  # row -> why it FAILED
    values: NDArray[np.float64] | None = None  # of the states chosen, if the policy values states
    evaluations: int = 0  # evaluations of single states by a network or heuristic


class Policy(ABC):
    """A policy bound to a task."""

    name: str = "policy"  # the spec it was loaded from
    digest: str = ""  # hash of what it is made of: equal digests, equal decisions
    deterministic: bool = True
    batch_size: int = 256  # how many states it likes at once
    chooses: bool = False  # whether `decide` accepts candidates

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        """The operator of each state, chosen among the candidates (default: all applicable operators)."""

    def values(self, states: States) -> NDArray[np.float64]:  # noqa: ARG002
        """The value of each state, for policies that value states."""
        raise UnsupportedError(f"the policy {self.name} does not value states")

    def close(self) -> None:  # noqa: B027 (most policies have nothing to end)
        """Ends processes and connections. The policy is not used afterwards."""

    def all_candidates(self, states: States) -> Candidates:
        """All applicable operators of each state."""
        return Candidates(*self.task.applicable_batch(states))

    def __repr__(self) -> str:
        return f"<Policy {self.name} on {self.task.name}>"


__all__ = [
    "FAILED",
    "NO_ACTION",
    "Answers",
    "Candidates",
    "Operators",
    "Policy",
    "States",
]
