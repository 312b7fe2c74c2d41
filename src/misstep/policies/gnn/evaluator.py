"""Evaluates any number of states in pieces of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from misstep.errors import MissingDependencyError, UsageError
from misstep.policies.gnn.batching import Batcher
from misstep.policies.gnn.checkpoint import Checkpoint
from misstep.policies.gnn.encoding import Encoding
from misstep.policies.gnn.graphs import GraphRunner
from misstep.policies.gnn.network import RelationalNetwork
from misstep.policies.gnn.noise import object_noise
from misstep.policies.torch_extra import exact_arithmetic, torch

# Rows of a piece: on a CPU few enough to stay in the cache, on a GPU enough to fill it.
ROWS = {"cpu": 4_096, "cuda": 4_194_304}


class Evaluator:
    """A network on a device, for one task."""

    def __init__(self, checkpoint: Checkpoint, encoding: Encoding, seed: int, device: str) -> None:
        self.kind = _check_device(device)
        noise = object_noise(seed, encoding.node_count, checkpoint.width // 2)
        self.network = RelationalNetwork(checkpoint, noise).to(device).eval()
        self.batcher = Batcher(encoding, device)
        self._run = (
            self.network if self.kind == "cpu" else GraphRunner(self.network, encoding.row_capacity)
        )
        slots = encoding.slot_relation.shape[1]
        self.piece = max(1, ROWS[self.kind] // (encoding.atoms_per_state * slots))

    def evaluate(
        self, states: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Values and logits. The states of decision i, which stay together, are those from
        `offsets[i]` to `offsets[i + 1]`."""
        values = np.empty(len(states))
        logits = np.empty(len(states)) if len(self.network.heads) > 1 else None
        with exact_arithmetic():
            for first, last in _pieces(offsets, self.piece):
                start, end = offsets[first], offsets[last]
                sizes = np.diff(offsets[first : last + 1])
                groups = np.repeat(np.arange(last - first), sizes)
                batch = self.batcher.build(states[start:end], groups, last - first)
                value, logit = self._run(batch)
                values[start:end] = value.cpu().numpy()
                if logits is not None and logit is not None:
                    logits[start:end] = logit.cpu().numpy()
        return values, logits


def _pieces(offsets: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of whole decisions with at most `limit` states, or of one that alone has more."""
    first, count = 0, len(offsets) - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + limit, side="right")) - 1
        last = min(max(last, first + 1), count)
        if offsets[last] > offsets[first]:
            yield first, last
        first = last


def _check_device(device: str) -> str:
    kind = device.partition(":")[0]
    if kind not in ROWS:
        raise UsageError(f"no device {device!r}", expected="cpu, cuda or cuda:N")
    if kind == "cuda" and not torch.cuda.is_available():
        raise MissingDependencyError(
            "PyTorch finds no CUDA device", where=f"device {device}", hint="use device=cpu"
        )
    return kind


__all__ = ["Evaluator"]
