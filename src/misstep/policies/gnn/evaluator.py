"""Evaluates any number of states in pieces of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.gnn.batching import Batcher
from misstep.policies.gnn.checkpoint import Checkpoint
from misstep.policies.gnn.encoding import Encoding
from misstep.policies.gnn.graphs import GraphRunner
from misstep.policies.gnn.network import RelationalNetwork
from misstep.policies.gnn.noise import object_noise
from misstep.policies.torch_extra import device_kind, exact_arithmetic

if TYPE_CHECKING:
    from misstep.policies.gnn.fused import FusedNetwork, Settings, Tables

# Rows of a piece: on a CPU few enough for the cache, on a GPU enough to keep it busy.
ROWS = {"cpu": 4_096, "cuda": 4_194_304}
# How far the kernels may differ from PyTorch in their trial run: rounding causes a thousandth of this.
TRIAL = 1e-2


class Evaluator:
    """A network on a device, for one task."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        encoding: Encoding,
        seed: int,
        device: str,
        *,
        plain: bool = False,
    ) -> None:
        """`plain`: use PyTorch's own operations, even if there are kernels for the device."""
        self.kind = device_kind(device)
        noise = object_noise(seed, encoding.node_count, checkpoint.width // 2)
        self.network = RelationalNetwork(checkpoint, noise).to(device).eval()
        self.batcher = Batcher(encoding, device)
        self._run = (
            self.network if self.kind == "cpu" else GraphRunner(self.network, encoding.row_capacity)
        )
        slots = encoding.slot_relation.shape[1]
        self.piece = max(1, ROWS[self.kind] // (encoding.atoms_per_state * slots))
        self.fused: FusedNetwork | None = None
        self.tables: Tables | None = None
        self.refused = "asked for PyTorch" if plain else "not on a GPU"
        """The reason why the kernels are not used; empty if they are used."""
        if self.kind == "cuda" and not plain:
            self.fuse(device)

    @property
    def steady(self) -> bool:
        """Whether the value of a state is the same, to the bit, in every batch."""
        return self.fused is not None

    def fuse(self, device: str, settings: Settings | None = None) -> None:
        """Switches to the kernels if they work here. Only a trial run can tell, since Triton, the driver and the
        card must fit together. If it fails, PyTorch's operations are used as before."""
        self.fused = self.tables = None
        self.refused = ""
        try:
            from misstep.policies.gnn.fused import WIDTHS, settings_for

            if self.network.width not in WIDTHS:
                raise ValueError(f"no kernels for {self.network.width} numbers per object")
            choices = (settings,) if settings else settings_for(self.network.width)
        except Exception as error:
            self.refused = f"{type(error).__name__}: {error}"
            return
        for choice in choices:
            try:
                self._try(device, choice)
            except Exception as error:
                self.refused = self.refused or f"{type(error).__name__}: {error}"
            else:
                self.refused = ""
                return

    def _try(self, device: str, settings: Settings) -> None:
        """Evaluates one state with the kernels, and keeps them if the value is that of PyTorch."""
        from misstep.policies.gnn.fused import FusedNetwork, Tables

        with exact_arithmetic():
            fused = FusedNetwork(self.network, device, settings)
            tables = Tables(self.batcher.encoding, device)
            states = _some_state(self.batcher.encoding)
            group = np.zeros(1, dtype=np.int64)
            value = float(fused([(tables, states)], group)[0, 0])
            expected = float(self.network(self.batcher.build(states, group, 1))[0][0])
        if np.isfinite(expected) and not abs(value - expected) <= TRIAL * (1 + abs(expected)):
            raise ValueError(f"the kernels give {value}, PyTorch {expected}")
        self.fused, self.tables = fused, tables

    def evaluate(
        self, states: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Values and logits. The states of decision i are those from `offsets[i]` to `offsets[i + 1]`;
        they stay together in one batch."""
        values = np.empty(len(states))
        logits = np.empty(len(states)) if len(self.network.heads) > 1 else None
        with exact_arithmetic():
            for first, last in _pieces(offsets, self.piece):
                start, end = offsets[first], offsets[last]
                sizes = np.diff(offsets[first : last + 1])
                groups = np.repeat(np.arange(last - first), sizes)
                value, logit = self._piece(states[start:end], groups, last - first)
                values[start:end] = value
                if logits is not None and logit is not None:
                    logits[start:end] = logit
        return values, logits

    def evaluate_alone(
        self, states: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Like `evaluate`, but each decision gets the numbers that it would get in a batch of its own."""
        if self.steady:
            return self.evaluate(states, offsets)
        values = np.empty(len(states))
        logits = np.empty(len(states)) if len(self.network.heads) > 1 else None
        for start, end in pairwise(offsets.tolist()):
            value, logit = self.evaluate(states[start:end], np.array([0, end - start]))
            values[start:end] = value
            if logits is not None and logit is not None:
                logits[start:end] = logit
        return values, logits

    def _piece(
        self, states: NDArray[np.int32], groups: NDArray[np.int64], count: int
    ) -> tuple[Any, Any | None]:
        if self.fused is not None and self.tables is not None:
            found = self.fused([(self.tables, states)], groups)
            return found[0], found[1] if len(found) > 1 else None
        value, logit = self._run(self.batcher.build(states, groups, count))
        return value.cpu().numpy(), None if logit is None else logit.cpu().numpy()


def _some_state(encoding: Encoding) -> NDArray[np.int32]:
    """A valid state for the trial run: it has no more atoms than a state can have."""
    state = np.zeros((1, len(encoding.variable_offsets)), dtype=np.int32)
    if (np.diff(encoding.variable_offsets) <= 0).any():  # Variables that share their facts.
        empty = np.flatnonzero(encoding.slot_relation[:, 0] == len(encoding.relations))
        state[0, 1:] = empty[0] - encoding.variable_offsets[1:]
    return state


def _pieces(offsets: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of whole decisions with at most `limit` states, or of one decision that has more states than that."""
    first, count = 0, len(offsets) - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + limit, side="right")) - 1
        last = min(max(last, first + 1), count)
        if offsets[last] > offsets[first]:
            yield first, last
        first = last


__all__ = ["Evaluator"]
