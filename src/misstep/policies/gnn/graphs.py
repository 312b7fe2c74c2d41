"""Replays of recorded evaluations on a GPU, for batches too small to keep it busy.

An evaluation takes about a thousand kernels. With few states, launching them one by one takes
longer than running them; recorded once as a CUDA graph, they are launched together. A record fixes
all shapes, so batches are padded, and the values of padding states are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields
from typing import Any

from misstep.policies.gnn.batching import Batch
from misstep.policies.gnn.network import RelationalNetwork
from misstep.policies.torch_extra import torch

MAX_STATES = 512  # Beyond this the kernels themselves take longer than their launches.
MAX_RECORDS = 24


def padded_states(count: int) -> int:
    """The next size with a record. It has at least one more state, which takes the padding rows."""
    step = 1 << max(3, count.bit_length() - 3)
    return count // step * step + step


def pad(batch: Batch, states: int, capacity: tuple[int, ...]) -> Batch:
    """Pads the batch with states, and with rows up to the most that so many states can have.

    The shape depends only on the number of states. So few records serve all batches, and values do
    not depend on earlier batches.
    """
    device, real = batch.row_node.device, len(batch.row_node)
    nodes = len(batch.node_group) // batch.state_count
    row_counts = tuple(rows * states for rows in capacity)
    total, start, moved = sum(row_counts), 0, []
    for have, want in zip(batch.row_counts, row_counts, strict=True):
        moved.append(torch.arange(start, start + have, device=device))
        start += want
    place = torch.cat(moved)
    is_added = torch.ones(total, dtype=torch.uint8, device=device)
    is_added[place] = 0
    # Sorted instead of selected: the length is then known without waiting for the GPU.
    added = torch.sort(is_added, stable=True).indices[real:]
    extra = (states - batch.state_count) * nodes
    row_node = batch.row_node.new_full((total,), batch.state_count * nodes)
    row_node[place] = batch.row_node
    # Padding rows are spread over their own groups and sums: many additions to one place would be serial.
    row_group = torch.arange(total, device=device) % states + states
    row_group[place] = batch.row_group
    sums = total // 16 + 1
    rest = torch.arange(sums, device=device) * (total - real) // sums + real
    visible = batch.visible
    if visible is not None:
        visible = torch.cat((visible, visible.new_ones(states - batch.state_count, nodes)))
    return Batch(
        state_count=states,
        group_count=2 * states,
        row_counts=row_counts,
        row_node=row_node,
        row_group=row_group,
        node_group=torch.cat((batch.node_group, batch.node_group.new_full((extra,), states))),
        by_node=torch.cat((place[batch.by_node], added)),
        node_start=torch.cat((batch.node_start, batch.node_start.new_full((extra,), real), rest)),
        visible=visible,
    )


class GraphRunner:
    """Evaluates small batches by records, and the rest directly."""

    def __init__(self, network: RelationalNetwork, capacity: tuple[int, ...]) -> None:
        self._network = network
        self._capacity = capacity
        self._records: OrderedDict[int, _Record] = OrderedDict()
        self._pool: Any = None

    def __call__(self, batch: Batch) -> tuple[Any, Any | None]:
        if batch.state_count > MAX_STATES:
            result: tuple[Any, Any | None] = self._network(batch)
            return result
        states = padded_states(batch.state_count)
        padded = pad(batch, states, self._capacity)
        if states not in self._records:
            with torch.cuda.device(padded.row_node.device):
                # Results are fetched before the next replay, so that records can share memory.
                self._pool = self._pool or torch.cuda.graph_pool_handle()
                self._records[states] = _Record(self._network, padded, self._pool)
            if len(self._records) > MAX_RECORDS:
                self._records.popitem(last=False)
        self._records.move_to_end(states)
        value, logit = self._records[states].replay(padded)
        count = batch.state_count
        return value[:count], None if logit is None else logit[:count]


class _Record:
    """One recorded evaluation and the arrays it reads and writes."""

    def __init__(self, network: RelationalNetwork, batch: Batch, pool: Any) -> None:
        self._batch = batch
        # Libraries set up their workspaces in the first run, which must not be recorded.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            network(batch)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool):
            result: tuple[Any, Any | None] = network(batch)
        self._result = result

    def replay(self, batch: Batch) -> tuple[Any, Any | None]:
        for field in fields(Batch):
            mine = getattr(self._batch, field.name)
            if isinstance(mine, torch.Tensor):
                mine.copy_(getattr(batch, field.name))
        self._graph.replay()
        return self._result


__all__ = ["GraphRunner", "pad", "padded_states"]
