"""Runs the kernels of `indexing.py` and `kernels.py`: packed weights, memory on the device, records as CUDA graphs.

A batch consists of parts. Each part is some states of one task; all tasks are of the domain that the network was
trained on. The input of the kernels is one array of integers: the total numbers of nodes and states; then for each part
its number of states, where its states, nodes and rows begin, and one line per state with its decision and values.

Everything else happens on the device, so that a whole evaluation can be recorded as a CUDA graph, once for each size,
and replayed. A record is made for the greatest number of atoms that so many states can have; programs beyond the size
of the actual batch end at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.gnn import indexing, kernels
from misstep.policies.gnn.encoding import Encoding
from misstep.policies.gnn.network import RelationalNetwork
from misstep.policies.torch_extra import torch

WIDTHS = (16, 32, 64, 128)  # the most that a tile of the kernels can have
MAX_RECORDS = 24
LINE = 4  # integers: what the kernels read starts at multiples of 16 bytes
CHUNK = 32


@dataclass(frozen=True)
class Settings:
    """The tile sizes of the kernels. They are the same for all batches, since other sizes may round differently."""

    precision: str = "pieces"
    """How products are made: six in bfloat16 are as exact as one in single precision, and use the tensor cores."""
    send_tile: int = 64
    send_warps: int = 4
    rows: int = 4
    """Messages that are added at once."""
    update_tile: int = 64
    update_warps: int = 4
    read_tile: int = 16
    read_warps: int = 4
    stages: int = 1
    records: bool = True
    """Whether evaluations are recorded."""
    fork: bool = True
    """Whether the relations of different arity run side by side in a record."""


SMALL = Settings(precision="tf32x3", send_tile=32, update_tile=32)


def settings_for(width: int) -> tuple[Settings, ...]:
    """The settings to try, the best first. Small tiles fit cards with little shared memory. Kernels for 128 numbers
    per object start with them, since they would take a minute to compile in large ones."""
    smallest = replace(SMALL, send_tile=16, update_tile=16)
    return (SMALL, smallest) if width > 64 else (Settings(), SMALL, smallest)


class Tables:
    """One task, as the kernels read it."""

    def __init__(self, encoding: Encoding, device: str) -> None:
        relations = len(encoding.relations)
        self.variables = len(encoding.variable_offsets)
        self.facts = encoding.atoms_per_state
        self.nodes = encoding.node_count
        self.arity = encoding.slot_relation.shape[1]
        # Not too small, so that most tasks share the same compiled kernels.
        self.relations = max(16, _power(relations + 1))
        arities = np.array([relation.arity for relation in encoding.relations], dtype=np.int64)
        self.atoms = np.array(encoding.row_capacity, dtype=np.int64) // np.maximum(arities, 1)
        """For each relation, the greatest number of atoms in a state."""
        of_fact = encoding.slot_relation[:, 0].astype(np.int32)
        arity = np.append(arities, 0)[of_fact].astype(np.int32)
        self.rows = _greatest_rows(encoding, arity)
        base = np.concatenate((encoding.variable_offsets, encoding.constant_facts))
        none = of_fact == relations
        self.base = _placed(base, device)
        self.relation = _placed(np.where(none, self.relations, of_fact), device)
        self.arity_of = _placed(arity, device)
        self.object = _placed(encoding.slot_object, device)


def _greatest_rows(encoding: Encoding, arity: NDArray[np.int32]) -> int:
    """An upper bound on the rows of any state: the widest atom of each variable, plus the constant atoms."""
    starts, constant = encoding.variable_offsets, encoding.constant_facts
    if len(starts) == 0 or (np.diff(starts) <= 0).any():  # Variables that share their facts.
        return sum(encoding.row_capacity)
    changing = arity[: int(constant.min(initial=len(arity)))]
    return int(np.maximum.reduceat(changing, starts).sum() + arity[constant].sum())


def _placed(array: NDArray[Any], device: str) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int32)).to(device)


def _power(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, count - 1).bit_length()


class _Weights:
    """The weights of a network, in the order in which the kernels read them."""

    def __init__(self, network: RelationalNetwork) -> None:
        self.members: dict[int, tuple[int, ...]] = {}
        self.of_arity: dict[int, Any] = {}
        for arity in sorted(set(network.arities)):
            members = [n for n, own in enumerate(network.arities) if own == arity]
            self.members[arity] = tuple(members)
            self.of_arity[arity] = torch.cat(
                [self._pair(network, f"relation{n}_in", f"relation{n}_out") for n in members]
            )
        self.update = self._pair(network, "update_in", "update_out")
        self.heads = []
        for head in network.heads:
            parts = [getattr(network, f"{head}{n}_weight").flatten() for n in range(3)]
            parts += [getattr(network, f"{head}{n}_bias") for n in range(3)]
            last = f"{head}3"
            parts += [
                getattr(network, f"{last}_weight").flatten(),
                getattr(network, f"{last}_bias"),
            ]
            self.heads.append(torch.cat(parts))
        self.initial = network.initial.contiguous()
        self._pieces: dict[int, Any] = {}

    def pieces(self, weights: Any) -> Any:
        """Each number as the sum of three numbers in bfloat16, stored in three planes."""
        if id(weights) not in self._pieces:
            first = weights.bfloat16()
            rest = weights - first.float()
            second = rest.bfloat16()
            self._pieces[id(weights)] = torch.stack(
                (first, second, (rest - second.float()).bfloat16())
            )
        return self._pieces[id(weights)]

    @staticmethod
    def _pair(network: RelationalNetwork, first: str, second: str) -> Any:
        names = (f"{first}_weight", f"{second}_weight", f"{first}_bias", f"{second}_bias")
        return torch.cat([getattr(network, name).flatten() for name in names])


@dataclass
class _Need:
    """The most memory that a batch needs."""

    states: int
    nodes: int
    rows: int
    integers: int
    arity: int
    atoms: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[tuple[Tables, int]]) -> _Need:
        return cls(
            states=sum(count for _, count in parts),
            nodes=sum(count * tables.nodes for tables, count in parts),
            rows=sum(count * tables.rows for tables, count in parts),
            integers=LINE + sum(_integers(tables, count) for tables, count in parts),
            arity=max(tables.arity for tables, _ in parts),
            atoms=np.sum([count * tables.atoms for tables, count in parts], axis=0),
        )

    def fits(self, other: _Need) -> bool:
        mine = (self.states, self.nodes, self.rows, self.integers, self.arity)
        theirs = (other.states, other.nodes, other.rows, other.integers, other.arity)
        pairs = zip(mine, theirs, strict=True)
        return all(a <= b for a, b in pairs) and bool((self.atoms <= other.atoms).all())


def _integers(tables: Tables, count: int) -> int:
    used = indexing.HEADER + count * (tables.variables + 1)
    return -(-used // LINE) * LINE


class _Room:
    """Arrays on the device for batches up to some size."""

    def __init__(self, need: _Need, width: int, rounds: int, heads: int, device: str) -> None:
        self.need = need

        def integers(count: int) -> Any:
            return torch.zeros(max(count, 1), dtype=torch.int32, device=device)

        def numbers(*shape: int) -> Any:
            return torch.zeros(shape, dtype=torch.float32, device=device)

        begins = np.concatenate(([0], np.cumsum(need.atoms)))
        listed = int(begins[-1])
        # A spare entry for each relation that a task has space for but does not use.
        self.list_begin = integers(max(16, _power(len(need.atoms) + 1)))
        self.list_begin[: len(begins)] = torch.from_numpy(begins.astype(np.int32))
        self.counters = torch.zeros_like(self.list_begin)
        self.inputs = integers(need.integers)
        self.atom_node = integers(listed * need.arity)
        self.atom_row = integers(listed * need.arity)
        self.atom_group = integers(listed)
        self.node_row = integers(need.nodes)
        self.node_degree = integers(need.nodes)
        self.node_group = integers(need.nodes)
        self.state_node = integers(need.states)
        self.state_size = integers(need.states)
        self.embedding = numbers(need.nodes, width)
        self.smooth = numbers(need.nodes, width)
        self.messages = numbers(max(need.rows, 1), width)
        self.greatest = numbers(max(rounds, 1), need.states)
        self.result = numbers(heads, need.states)
        pinned = device != "cpu"
        self.sent = torch.zeros(need.integers, dtype=torch.int32, pin_memory=pinned)
        self.received = torch.zeros(heads, need.states, dtype=torch.float32, pin_memory=pinned)


class FusedNetwork:
    """A network that evaluates each round with a few kernels. It may hold several tasks of one domain."""

    def __init__(
        self, network: RelationalNetwork, device: str, settings: Settings | None = None
    ) -> None:
        settings = settings or Settings()
        if device == "cpu" and settings.precision == "pieces":
            settings = replace(settings, precision="pieces32")
        self.settings = settings
        self.device = device
        self.width, self.rounds = network.width, network.rounds
        self.heads = len(network.heads)
        self._weights = _Weights(network)
        self._members = {
            arity: _placed(np.array(members), device)
            for arity, members in self._weights.members.items()
        }
        self._room: _Room | None = None
        self._side: Any = None
        """A second stream, while a record is made."""
        self._records: OrderedDict[tuple[int, int], Any] = OrderedDict()

    def __call__(
        self, parts: Sequence[tuple[Tables, NDArray[np.int32]]], groups: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """A row of values, and one of logits if the network has that head. `groups` numbers the decision of each
        state, counting up from 0 through all parts."""
        if self.device == "cpu":
            return self._evaluate(parts, groups)
        with torch.cuda.device(torch.device(self.device)):  # Triton launches on the current one.
            return self._evaluate(parts, groups)

    def _evaluate(
        self, parts: Sequence[tuple[Tables, NDArray[np.int32]]], groups: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        counts = [(tables, len(states)) for tables, states in parts]
        sizes = self._padded(counts)
        room = self._reserve(_Need.of(sizes))
        used = self._fill(room, parts, groups)
        room.inputs[:used].copy_(room.sent[:used], non_blocking=True)
        self._run(room, sizes)
        count = len(groups)
        for head in range(self.heads):
            room.received[head, :count].copy_(room.result[head, :count], non_blocking=True)
        if self.device != "cpu":
            torch.cuda.current_stream().synchronize()
        found: NDArray[np.float32] = room.received[:, :count].numpy().copy()
        return found

    def _padded(self, counts: list[tuple[Tables, int]]) -> list[tuple[Tables, int]]:
        """The sizes that get a record: only a few, so that all records are soon made."""
        if len(counts) > 1:
            return counts
        return [(tables, max(16, _power(count))) for tables, count in counts]

    def _reserve(self, need: _Need) -> _Room:
        if self._room is None or not need.fits(self._room.need):
            if (
                self._room is not None
            ):  # Only grows; otherwise two kinds of batches would resize it in turn.
                had = self._room.need
                need = _Need(
                    states=max(need.states, had.states),
                    nodes=max(need.nodes, had.nodes),
                    rows=max(need.rows, had.rows),
                    integers=max(need.integers, had.integers),
                    arity=max(need.arity, had.arity),
                    atoms=np.maximum(need.atoms, had.atoms),
                )
            self._records.clear()
            self._room = None
            self._room = _Room(need, self.width, self.rounds, self.heads, self.device)
        return self._room

    def _fill(
        self,
        room: _Room,
        parts: Sequence[tuple[Tables, NDArray[np.int32]]],
        groups: NDArray[np.int64],
    ) -> int:
        """Writes the input of the kernels; returns its number of integers."""
        sent = room.sent.numpy()
        place, state, node, row = LINE, 0, 0, 0
        for tables, states in parts:
            count = len(states)
            sent[place : place + indexing.HEADER] = count, state, node, row
            start = place + indexing.HEADER
            lines = sent[start : start + count * (tables.variables + 1)]
            lines = lines.reshape(count, tables.variables + 1)
            lines[:, 0] = groups[state : state + count]
            lines[:, 1:] = states
            place += _integers(tables, count)
            state += count
            node += count * tables.nodes
            row += count * tables.rows
        sent[0], sent[1] = node, state
        return place

    def _run(self, room: _Room, sizes: list[tuple[Tables, int]]) -> None:
        if self.device == "cpu" or not self.settings.records or len(sizes) > 1:
            self.launch(room, sizes)
            return
        key = (id(sizes[0][0]), sizes[0][1])
        if key not in self._records:
            self._records[key] = self._record(room, sizes)
            if len(self._records) > MAX_RECORDS:
                self._records.popitem(last=False)
        self._records.move_to_end(key)
        self._records[key][0].replay()

    def _record(self, room: _Room, sizes: list[tuple[Tables, int]]) -> tuple[Any, Any]:
        """The graph, with the tables, which are kept so that no other tables get the same id."""
        # Kernels are compiled and loaded in the first run, which must not be recorded.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.launch(room, sizes)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._side = torch.cuda.Stream() if self.settings.fork else None
            try:
                self.launch(room, sizes)
            finally:
                self._side = None
        return graph, sizes[0][0]

    def launch(self, room: _Room, sizes: list[tuple[Tables, int]]) -> None:
        """Launches all kernels of an evaluation, for at most so many states of each part."""
        need = _Need.of(sizes)
        room.counters.zero_()
        room.greatest.fill_(-torch.inf)
        place = LINE
        for tables, count in sizes:
            self._build(room, tables, count, room.inputs[place:])
            place += _integers(tables, count)
        for number in range(self.rounds):
            self._send_all(room, need, room.greatest[number])
            self._update(room, need, room.greatest[number])
        how = self.settings
        for head in range(self.heads):
            kernels.readout[(-(-need.states // how.read_tile),)](
                room.embedding,
                room.inputs,
                room.state_node,
                room.state_size,
                *self._given(self._weights.heads[head]),
                room.result[head],
                ABSOLUTE=head == 0,
                WIDTH=self.width,
                TILE=how.read_tile,
                HOW=how.precision,
                num_warps=how.read_warps,
                num_stages=how.stages,
            )

    def _given(self, weights: Any) -> tuple[Any, Any, int]:
        """The weights, their pieces, and the distance from one piece of a number to the next."""
        split = self.settings.precision in ("pieces", "pieces32")
        return weights, self._weights.pieces(weights) if split else weights, len(weights)

    def _build(self, room: _Room, tables: Tables, count: int, inputs: Any) -> None:
        indexing.build[(count,)](
            inputs,
            tables.base,
            tables.relation,
            tables.arity_of,
            tables.object,
            self._weights.initial,
            room.counters,
            room.list_begin,
            room.atom_node,
            room.atom_row,
            room.atom_group,
            room.node_row,
            room.node_degree,
            room.node_group,
            room.state_node,
            room.state_size,
            room.embedding,
            tables.variables,
            tables.facts,
            tables.nodes,
            tables.rows,
            ARITY=tables.arity,
            WIDTH=self.width,
            FACTS=max(64, _power(tables.facts)),
            NODES=max(16, _power(tables.nodes)),
            RELATIONS=tables.relations,
            CHUNK=CHUNK,
            num_warps=4,
        )

    def _send_all(self, room: _Room, need: _Need, greatest: Any) -> None:
        """The relations of every arity. In a record, the widest run beside the others, because they take longest."""
        arities = [
            arity for arity, own in self._weights.members.items() if need.atoms[list(own)].any()
        ]
        if self._side is None:
            for arity in arities:
                self._send(room, need, arity, greatest)
            return
        self._side.wait_stream(torch.cuda.current_stream())
        for arity in arities[-1:]:
            self._send(room, need, arity, greatest)
        with torch.cuda.stream(self._side):
            for arity in arities[:-1]:
                self._send(room, need, arity, greatest)
        torch.cuda.current_stream().wait_stream(self._side)

    def _send(self, room: _Room, need: _Need, arity: int, greatest: Any) -> None:
        how, members = self.settings, self._weights.members[arity]
        tiles = sum(-(-int(need.atoms[n]) // how.send_tile) for n in members)
        kernels.send[(tiles,)](
            room.embedding,
            room.messages,
            greatest,
            room.counters,
            room.list_begin,
            room.atom_node,
            room.atom_row,
            room.atom_group,
            self._members[arity],
            *self._given(self._weights.of_arity[arity]),
            len(members),
            SLOTS=need.arity,
            ARITY=arity,
            MEMBERS=max(16, _power(len(members))),
            WIDTH=self.width,
            TILE=how.send_tile,
            HOW=how.precision,
            num_warps=how.send_warps,
            num_stages=how.stages,
        )

    def _update(self, room: _Room, need: _Need, greatest: Any) -> None:
        how = self.settings
        kernels.aggregate[(need.nodes,)](
            room.messages,
            room.smooth,
            greatest,
            room.inputs,
            room.node_row,
            room.node_degree,
            room.node_group,
            WIDTH=self.width,
            ROWS=how.rows,
            num_warps=1,
        )
        kernels.update[(-(-need.nodes // how.update_tile),)](
            room.embedding,
            room.smooth,
            room.inputs,
            *self._given(self._weights.update),
            WIDTH=self.width,
            TILE=how.update_tile,
            HOW=how.precision,
            num_warps=how.update_warps,
            num_stages=how.stages,
        )


__all__ = ["WIDTHS", "FusedNetwork", "Settings", "Tables", "settings_for"]
