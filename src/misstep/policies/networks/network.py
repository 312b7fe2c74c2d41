"""Networks over plain vectors of numbers: what a policy of a safety model is made of.

A network maps a row of inputs to a number for each label; the policy takes the applicable label with the
highest number, the first one if several have it. Where the inputs come from and which labels apply is
not its business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import UsageError

Rows = NDArray[np.float64]  # one row of numbers each
Mask = NDArray[np.bool_]  # shape (n, outputs): what may be chosen
Choices = NDArray[
    np.int32
]  # NO_ACTION where nothing is allowed, FAILED where a number is not finite

CLOSE = 1e-6  # decisions by less than this hang on rounding


class Network(ABC):
    """A function from rows of `inputs` numbers to rows of `outputs` numbers."""

    kind: str = "network"
    inputs: int
    outputs: int
    digest: str = ""  # SHA-256 of the file it was read from
    core: _core.Network | None = None
    """The native network, for loops that must not touch Python; none if there is no such thing."""

    def evaluate(self, batch: Rows) -> Rows:
        rows = np.ascontiguousarray(batch, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise UsageError(
                f"a batch of shape {rows.shape} for a network of {self.inputs} inputs",
                expected=f"rows of {self.inputs} numbers",
            )
        return self._evaluate(rows)

    def close(self) -> None:  # noqa: B027 (most have none)
        """End the process that computes it, where there is one."""

    @abstractmethod
    def _evaluate(self, rows: Rows) -> Rows:
        """The outputs of rows of the right shape."""

    def choose(self, batch: Rows, allowed: Mask | None = None) -> Choices:
        """The best allowed output of each row."""
        outputs = self.evaluate(batch)
        return choose(outputs, np.ones(outputs.shape, np.bool_) if allowed is None else allowed)


class NativeNetwork(Network):
    """A network of the core: the same bits on every machine, whatever the batch."""

    core: _core.Network

    def __init__(self, core: _core.Network, kind: str, digest: str = "") -> None:
        self.core = core
        self.kind = kind
        self.digest = digest
        self.inputs = core.inputs
        self.outputs = core.outputs

    def _evaluate(self, rows: Rows) -> Rows:
        return self.core.evaluate(rows)


def choose(outputs: Rows, allowed: Mask) -> Choices:
    """The allowed output with the highest number in each row, the lowest index if several have it."""
    mask = np.ascontiguousarray(allowed, dtype=np.bool_)
    if mask.shape != outputs.shape:
        raise UsageError(
            f"what is allowed has the shape {mask.shape}",
            expected=f"{outputs.shape}, as the outputs",
        )
    return _core.choose_outputs(np.ascontiguousarray(outputs, dtype=np.float64), mask)


def margins(outputs: Rows, allowed: Mask) -> NDArray[np.float64]:
    """By how much the best allowed output beats the second; infinite if there is no second.

    A margin below CLOSE says that another way of computing the network may decide differently.
    """
    known = np.where(allowed, outputs, -np.inf)
    if known.shape[1] < 2:
        return np.full(len(known), np.inf)
    top = np.sort(known, axis=1)[:, -2:]
    return np.where(
        np.isneginf(top[:, 0]), np.inf, top[:, 1] - np.where(np.isneginf(top[:, 0]), 0, top[:, 0])
    )


__all__ = ["CLOSE", "Choices", "Mask", "NativeNetwork", "Network", "Rows", "choose", "margins"]
