"""Batches of states as index arrays, built by whole-array operations on the network's own device.

The states of a batch are one large graph: node `state * N + object`. Each argument position of each
atom is a *row*: the network reads the embedding of the row's node and sends a message back to it.
Rows are ordered by relation, and the rows of an atom are adjacent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.gnn.encoding import Encoding
from misstep.policies.torch_extra import torch


@dataclass
class Batch:
    """The index arrays of one evaluation."""

    state_count: int
    group_count: int
    row_counts: tuple[int, ...]
    """Rows of each relation."""
    row_node: Any
    row_group: Any
    node_group: Any
    by_node: Any
    """Rows sorted by node; those of node i start at `node_start[i]`. Sums over them need no atomic
    additions, so their order, and with it the result, is always the same."""
    node_start: Any
    visible: Any | None
    """Zero for trailing objects that no atom of the state mentions and that are therefore ignored; None
    if no state can have such objects."""


class Batcher:
    """Builds batches for one task on one device."""

    def __init__(self, encoding: Encoding, device: str) -> None:
        self.encoding = encoding
        self.device = device
        self._offsets = self._place(encoding.variable_offsets)
        self._constant = self._place(encoding.constant_facts)
        self._slot_relation = self._place(encoding.slot_relation)
        self._slot_object = self._place(encoding.slot_object)
        self._last_object = self._place(encoding.last_object)

    def _place(self, array: NDArray[Any]) -> Any:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def build(
        self, states: NDArray[np.int32], groups: NDArray[np.int64], group_count: int
    ) -> Batch:
        """A batch of the given states; `groups` has the number of the decision that each state belongs to."""
        count, nodes = len(states), self.encoding.node_count
        relations = len(self.encoding.relations)
        facts = self._facts(states)
        group = self._place(groups)
        relation = self._slot_relation[facts].flatten()
        first_node = torch.arange(count, device=self.device, dtype=torch.int32) * nodes
        node = (self._slot_object[facts] + first_node[:, None, None]).flatten()
        row_counts = torch.bincount(relation, minlength=relations + 1).tolist()
        rows = sum(row_counts[:relations])
        # Stable, so that the rows of an atom stay together; rows without a relation come last.
        order = torch.sort(relation, stable=True).indices[:rows]
        row_node = node[order]
        per_node = torch.bincount(row_node, minlength=count * nodes)
        return Batch(
            state_count=count,
            group_count=group_count,
            row_counts=tuple(row_counts[:relations]),
            row_node=row_node,
            row_group=group[order // (relation.numel() // count)],
            node_group=group.repeat_interleave(nodes),
            by_node=torch.sort(row_node, stable=True).indices,
            node_start=per_node.cumsum(0) - per_node,
            visible=self._visible(facts),
        )

    def _facts(self, states: NDArray[np.int32]) -> Any:
        """The facts of each state, including the constant ones; shape (states, facts)."""
        dynamic = self._place(states) + self._offsets
        return torch.cat((dynamic, self._constant.expand(len(states), -1)), dim=1)

    def _visible(self, facts: Any) -> Any | None:
        if self.encoding.always_visible:
            return None
        last = self._last_object[facts].amax(dim=1)
        objects = torch.arange(self.encoding.node_count, device=self.device)
        return (objects <= last[:, None]).to(torch.float32)


__all__ = ["Batch", "Batcher"]
