"""The protocol of all policies.

A policy is bound to a task and answers batches: it gets one state per row and returns one operator per row. It must be
a function of the state: the policy graph asks once per state and remembers the answer, so runs could not be reproduced
if answers depended on anything else (the batch, the order, an earlier call). If a policy cannot answer for some states,
it says so row by row, with a message; it raises an exception only if the whole policy is unusable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UnsupportedError, UsageError
from misstep.tasks.task import State, Task

States = NDArray[np.int32]  # shape (n, variables)
Operators = NDArray[np.int32]  # shape (n,)

# In place of an operator.
NO_ACTION = -1  # the policy stops
FAILED = -2  # the policy crashed or answered nonsense; a message says why
TIMED_OUT = (
    -4
)  # the policy did not answer in time (-3 is what the policy graph says of states not asked about)


class Candidates(NamedTuple):
    """The operators to choose from; those of row i are `operators[offsets[i]:offsets[i + 1]]`, in increasing order."""

    offsets: NDArray[np.int64]
    operators: NDArray[np.int32]

    def of(self, rows: NDArray[np.intp]) -> Candidates:
        """The candidates of some rows."""
        parts = [self.operators[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
        return Candidates(offsets, np.concatenate([np.empty(0, np.int32), *parts]))


@dataclass
class Answers:
    """The answers of a policy to a batch."""

    operators: Operators
    messages: dict[int, str] = field(default_factory=dict)  # row -> why it FAILED
    values: NDArray[np.float64] | None = None  # of the states chosen, if the policy values states
    evaluations: int = 0  # evaluations of single states by a network or heuristic

    def problem(self, count: int, task: Task) -> str | None:
        """What is wrong with these answers to `count` states of a task, or None; policies are foreign code."""
        given = np.asarray(self.operators)
        if given.shape != (count,) or given.dtype != np.int32:
            return (
                f"the policy answered an array of {given.dtype}, shape {given.shape}; "
                f"expected int32, shape ({count},)"
            )
        wrong = given[((given < FAILED) & (given != TIMED_OUT)) | (given >= task.operator_count)]
        return f"the task has no operator {wrong[0]}" if len(wrong) else None


class Policy(ABC):
    """A policy bound to a task."""

    name: str = "policy"  # the spec it was loaded from
    in_memory: bool = True  # not loaded from a spec: nothing makes it again in another process
    digest: str = ""  # hash of what it is made of: equal digests, equal decisions
    deterministic: bool = True
    batch_size: int = 256  # how many states it likes at once
    chooses: bool = False  # whether `decide` accepts candidates
    valued: bool = False  # whether it values states: `values`, and `Answers.values`
    set_valued: bool = False  # whether it permits several operators: `permitted`
    stochastic: bool = False  # whether it draws among them: `probabilities`
    plans: bool = False  # whether it answers with a whole plan: `plan`
    chooser: str | None = (
        None  # the fixed rule that chose among what a set-valued policy permits, if one did
    )
    files: tuple[str, ...] = ()  # that it is known to depend on; the digest covers them
    environment: Mapping[str, str | None] = MappingProxyType({})  # variables that its code has read

    def __init__(self, task: Task) -> None:
        self.task = task

    @property
    def spec(self) -> str:
        return self.name

    @abstractmethod
    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        """Choose an operator for each state, among the candidates (default: all applicable operators)."""

    def ask_again(self, states: States) -> Answers:
        """Answer as `decide` does, but without caches and in a new process if the policy has its own.

        It is only called to find out whether the policy is a function of the state.
        """
        return self.decide(states)

    def values(self, states: States) -> NDArray[np.float64]:  # noqa: ARG002
        """The value of each state, for policies that value states."""
        raise UnsupportedError(f"the policy {self.name} does not value states")

    def permitted(self, states: States) -> Candidates:  # noqa: ARG002
        """The operators that a set-valued policy permits in each state; if there are none, it is stuck there.

        An exception counts as a crash in every state of the batch; `misstep.runs.permitted` asks again state by state.
        """
        raise UnsupportedError(f"the policy {self.name} does not permit several operators")

    def probabilities(self, states: States) -> tuple[Candidates, NDArray[np.float64]]:  # noqa: ARG002
        """The operators from which a stochastic policy draws in each state, and their probabilities."""
        raise UnsupportedError(f"the policy {self.name} has no probabilities")

    def plan(self, state: State) -> Sequence[int]:  # noqa: ARG002
        """The whole plan from a state, as operators, for policies that answer with plans."""
        raise UnsupportedError(f"the policy {self.name} does not answer with plans")

    def close(self) -> None:  # noqa: B027 (most policies have nothing to end)
        """End processes and connections. The policy must not be used afterwards."""

    def all_candidates(self, states: States) -> Candidates:
        """All applicable operators of each state."""
        return Candidates(*self.task.applicable_batch(states))

    def __repr__(self) -> str:
        return f"<Policy {self.name} on {self.task.name}>"


def checked_states(states: Any, task: Task) -> States:
    """Check and convert a batch for native code, which would otherwise read 2**32 + 1 and 1.7 as 1."""
    given = np.asarray(states)
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise UsageError(
            f"the states are an array of {given.dtype}, shape {given.shape}",
            expected=f"rows of {task.variable_count} whole numbers, as numpy.int32",
        )
    rows = np.ascontiguousarray(given, dtype=np.int32)
    if given.dtype != np.int32:
        for row, variable in np.argwhere(rows != given)[:1].tolist():
            raise UsageError(f"row {row}: variable {variable} has no value {given[row, variable]}")
    return rows


__all__ = [
    "FAILED",
    "NO_ACTION",
    "TIMED_OUT",
    "Answers",
    "Candidates",
    "Operators",
    "Policy",
    "States",
    "checked_states",
]
