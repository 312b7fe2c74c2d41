"""The narrow interface between the service and what it evaluates.

A model takes rows of whole numbers, one for each state, and returns a row of numbers for each. The rows of a decision
stay together. Models of one family, that is, the same network on several tasks, may be evaluated in one batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.int32]
Offsets = NDArray[np.int64]


class Part(NamedTuple):
    """Decisions of one model: the rows of decision i are from `offsets[i]` to `offsets[i + 1]`."""

    states: States
    offsets: Offsets


class Output(NamedTuple):
    """A column of numbers for each output of a model, and error messages for single rows."""

    columns: NDArray[np.float64]
    messages: Mapping[int, str] = {}


class Model(ABC):
    """A network on a task."""

    key: str  # equal keys, equal models
    width: int  # numbers of a state
    columns: int  # outputs for each row
    about: Mapping[str, Any] = {}  # the description that clients get

    @abstractmethod
    def evaluate(self, part: Part) -> Output:
        """All decisions at once."""

    def alone(self, part: Part) -> Output:
        """Each decision by itself, so that its numbers do not depend on other questions."""
        outputs = [self.evaluate(one) for one in single_decisions(part)]
        return joined_output(outputs, self.columns)

    def problem(self, part: Part) -> str | None:  # noqa: ARG002
        """The reason why these are not states of the task, if there is one."""
        return None

    @property
    def family(self) -> object:
        """Models that may be evaluated together."""
        return self

    def together(
        self,
        models: Sequence[Model],  # noqa: ARG002
        parts: Sequence[Part],  # noqa: ARG002
    ) -> list[NDArray[np.float64]] | None:
        """The columns of several models of the family from one batch; None if a common batch would not be faster."""
        return None


def problem_of_offsets(part: Part) -> str | None:
    """The reason why the decisions do not divide the states among them, if they do not."""
    offsets = part.offsets
    bounds = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(part.states)
    if not bounds or bool((np.diff(offsets) < 0).any()):
        return "the decisions of a question do not fit its states"
    return None


def single_decisions(part: Part) -> list[Part]:
    starts, ends = part.offsets[:-1].tolist(), part.offsets[1:].tolist()
    return [
        Part(part.states[start:end], np.array([0, end - start], dtype=np.int64))
        for start, end in zip(starts, ends, strict=True)
        if end > start
    ]


def concatenated(parts: Sequence[Part]) -> Part:
    """Joins several parts of one model."""
    if len(parts) == 1:
        return parts[0]
    offsets = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        offsets.append(part.offsets[1:] - part.offsets[0] + offsets[-1][-1])
    return Part(np.concatenate([part.states for part in parts]), np.concatenate(offsets))


def joined_output(outputs: Sequence[Output], columns: int) -> Output:
    messages, row = {}, 0
    for output in outputs:
        messages.update({row + own: text for own, text in output.messages.items()})
        row += output.columns.shape[1]
    return Output(
        np.concatenate([np.empty((columns, 0)), *(output.columns for output in outputs)], axis=1),
        messages,
    )


def split_output(output: Output, sizes: Sequence[int]) -> list[Output]:
    parts, row = [], 0
    for size in sizes:
        messages = {
            own - row: text for own, text in output.messages.items() if row <= own < row + size
        }
        parts.append(Output(output.columns[:, row : row + size], messages))
        row += size
    return parts


__all__ = [
    "Model",
    "Output",
    "Part",
    "concatenated",
    "joined_output",
    "problem_of_offsets",
    "single_decisions",
    "split_output",
]
