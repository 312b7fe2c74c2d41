"""Replays of recorded evaluations on a GPU, for batches too small to keep it busy.

An evaluation is about a thousand kernels. With few states, launching them one by one takes longer
than running them; recorded once as a CUDA graph they are launched together. A record fixes all
shapes, so batches are padded: further states, in a group of their own, take up further rows, and
their values are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields
from typing import Any

import torch

from misstep.policies.gnn.batching import Batch, sort_rows
from misstep.policies.gnn.network import RelationalNetwork

MAX_STATES = 2048  # Beyond this the kernels themselves take longer than their launches.
MAX_RECORDS = 24

Shape = tuple[int, tuple[int, ...]]


def padded_shape(batch: Batch, arities: list[int]) -> Shape:
    """Slightly larger round numbers, so that similar batches share a record."""
    step = max(8, 1 << batch.state_count.bit_length() - 4)
    states = _round_up(batch.state_count + 1, step)
    rows = tuple(
        _round_up(count, arity * 4 * step) if count else 0
        for count, arity in zip(batch.row_counts, arities, strict=True)
    )
    return states, rows


def pad(batch: Batch, shape: Shape) -> Batch:
    """The same batch with states and rows added; the states added share the last group."""
    states, row_counts = shape
    device, nodes = batch.row_node.device, len(batch.node_group) // batch.state_count
    extra_states = states - batch.state_count
    spare = torch.arange(extra_states * nodes, device=device, dtype=batch.row_node.dtype)
    spare += batch.state_count * nodes
    last = states - 1  # At most as many groups as states are taken.
    row_node, row_group, start = [], [], 0
    for have, want in zip(batch.row_counts, row_counts, strict=True):
        row_node.append(batch.row_node[start : start + have])
        row_group.append(batch.row_group[start : start + have])
        if want > have:
            # Spread over the spare nodes: one node with all of them would take long to sum.
            row_node.append(spare.repeat(-(-(want - have) // len(spare)))[: want - have])
            row_group.append(batch.row_group.new_full((want - have,), last))
        start += have
    padded_nodes = torch.cat(row_node)
    by_node, node_start = sort_rows(padded_nodes, states * nodes)
    visible = batch.visible
    if visible is not None:
        visible = torch.cat((visible, visible.new_ones(extra_states, nodes)))
    return Batch(
        state_count=states,
        group_count=states,
        row_counts=row_counts,
        row_node=padded_nodes,
        row_group=torch.cat(row_group),
        node_group=torch.cat((batch.node_group, batch.node_group.new_full((len(spare),), last))),
        by_node=by_node,
        node_start=node_start,
        visible=visible,
    )


class GraphRunner:
    """Evaluates small batches by records, and the rest directly."""

    def __init__(self, network: RelationalNetwork) -> None:
        self._network = network
        self._records: OrderedDict[Shape, _Record] = OrderedDict()
        self._seen: set[Shape] = set()

    def __call__(self, batch: Batch) -> tuple[Any, Any | None]:
        if batch.state_count > MAX_STATES:
            result: tuple[Any, Any | None] = self._network(batch)
            return result
        shape = padded_shape(batch, self._network.arities)
        padded = pad(batch, shape)
        record = self._records.get(shape)
        if record is None:
            # Recording pays from the second use on. The padded batch is evaluated even so: a value
            # should not depend on whether there is a record.
            if shape not in self._seen:
                self._seen.add(shape)
                return _first(self._network(padded), batch.state_count)
            with torch.cuda.device(padded.row_node.device):
                record = self._records[shape] = _Record(self._network, padded)
            if len(self._records) > MAX_RECORDS:
                self._records.popitem(last=False)
        self._records.move_to_end(shape)
        return _first(record.replay(padded), batch.state_count)


class _Record:
    """One recorded evaluation and the arrays it reads and writes."""

    def __init__(self, network: RelationalNetwork, batch: Batch) -> None:
        self._batch = batch
        # Libraries set up their workspaces in the first run, which must not be recorded.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            network(batch)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            result: tuple[Any, Any | None] = network(batch)
        self._result = result

    def replay(self, batch: Batch) -> tuple[Any, Any | None]:
        for field in fields(Batch):
            mine = getattr(self._batch, field.name)
            if isinstance(mine, torch.Tensor):
                mine.copy_(getattr(batch, field.name))
        self._graph.replay()
        return self._result


def _first(result: tuple[Any, Any | None], count: int) -> tuple[Any, Any | None]:
    value, logit = result
    return value[:count], None if logit is None else logit[:count]


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


__all__ = ["GraphRunner", "pad", "padded_shape"]
