"""The ASNet over a plan of several tasks, with its gradient. Needs PyTorch.

A minibatch of a small network takes some hundred tiny operations, and recording them for automatic differentiation
costs more than running them. So the gradient is written out here, layer by layer: every result has its place in a
buffer that is kept as long as the plan, slices of a buffer replace cutting and concatenating, and the gradients of all
weights are in one vector. The tests compare it with automatic differentiation of the other network.

All parameters are in one flat vector too, so that an optimiser runs its few operations once instead of once for each of
some forty tensors. Matrices are stored in it input by input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from misstep import _core
from misstep.policies.asnet.shape import Shape, modules
from misstep.policies.asnet.weights import Floats, Weights
from misstep.policies.torch_extra import torch
from misstep.training.union import Plan

Tensor = Any  # mypy does not look into PyTorch
EMPTY = -1.0  # what an empty pool and a missing fact look like


def has_cuda() -> bool:
    return bool(torch.cuda.is_available())


class PlanTensors:
    """The index tensors of a plan, on a device, and the operations that need them.

    On a CPU they are native. Elsewhere sums run over sorted segments instead of adding in random order, so that the
    result is the same every time.
    """

    def __init__(self, plan: Plan, device: str = "cpu", *, native: bool | None = None) -> None:
        """`native` chooses between the two ways on a CPU, for the tests."""
        self.plan = plan
        self.device = torch.device(device)
        self.native = self.device.type == "cpu" if native is None else native
        self.operator_groups = [int(n) for n in plan.operator_groups]
        self.fact_groups = [int(n) for n in plan.fact_groups]
        self.fact_rows, self.operator_rows = plan.fact_rows, plan.operator_rows
        self.place_of_row = [self._ids(rows) for rows in plan.place_of_row]
        self.local_of_row = [self._ids(rows) for rows in plan.local_of_row]
        self.action_index = self._ids(plan.action_index)
        members, offsets = plan.pools
        self.segments = len(offsets) - 1
        if self.native:
            self._members, self._offsets = members, offsets
            self._reads32 = plan.action_index.astype(np.int32)
        else:
            self._member_rows = self._ids(members)
            self._segment = self._ids(np.repeat(np.arange(self.segments), np.diff(offsets)))
            rows = self.fact_rows + self.operator_rows + 1
            self._readers, self._reader_offsets = self._transposed(plan.action_index, rows)
            self._pools_of, self._pool_offsets = self._transposed(members, self.operator_rows)
        index = plan.output_index
        self.output_index = self._ids(index.ravel())
        self.output_width = index.shape[1]
        # Each operator row is one output; padding comes after all of them.
        inverse = np.empty(self.operator_rows, np.int64)
        flat = index.ravel()
        there = np.flatnonzero(flat < self.operator_rows)
        inverse[flat[there]] = there
        self.output_of_row = self._ids(inverse)
        counts = np.array(plan.operator_counts)[plan.task_of_place][:, None]
        local = np.broadcast_to(np.arange(self.output_width), index.shape)
        self._output_local = self._ids(local)
        self._output_there = self._ids(local < counts, torch.bool)

    def _ids(self, array: Any, dtype: Any = None) -> Tensor:
        tensor = torch.as_tensor(np.ascontiguousarray(array))
        return tensor.to(device=self.device, dtype=dtype or torch.int64)

    def _transposed(self, index: Any, rows: int) -> tuple[Tensor, Tensor]:
        """The references to each row: places in `index`, sorted by row, and where those of a row begin."""
        order = np.argsort(index, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(index, minlength=rows))])
        return self._ids(order), self._ids(offsets)

    def output_places(self, first: Tensor) -> Tensor:
        """Where the operators of each place are in an array that has them from `first` on; 0 for none."""
        return torch.where(self._output_there, first[:, None] + self._output_local, 0)

    def segment_max(self, x: Tensor, out: Tensor, winner: Tensor) -> None:
        if self.native:
            _core.segment_max(
                x.numpy(), self._members, self._offsets, EMPTY, out.numpy(), winner.numpy()
            )
            return
        out.fill_(EMPTY)
        index = self._segment[:, None].expand(-1, x.shape[1])
        out.scatter_reduce_(0, index, x.index_select(0, self._member_rows), "amax")

    def add_to_winners(
        self, gradient: Tensor, winner: Tensor, x: Tensor, best: Tensor, out: Tensor
    ) -> None:
        """The gradient of `segment_max`; equal members share it where there is no winner."""
        if self.native:
            _core.scatter_winners(gradient.numpy(), winner.numpy(), out.numpy())
            return
        wins = x.index_select(0, self._member_rows) == best.index_select(0, self._segment)
        wins = wins.to(gradient.dtype)
        lengths = torch.zeros_like(best)
        index = self._segment[:, None].expand(-1, x.shape[1])
        lengths.scatter_reduce_(0, index, wins, "sum")  # of ones: exact in any order
        share = wins * (gradient / lengths.clamp_(min=1)).index_select(0, self._segment)
        sums = torch.segment_reduce(
            share.index_select(0, self._pools_of), "sum", offsets=self._pool_offsets, axis=0
        )
        out.add_(sums)

    def add_to_read(self, gradient: Tensor, out: Tensor) -> None:
        """The gradient of reading `action_index`; `out` is overwritten."""
        if self.native:
            out.zero_()
            _core.scatter_rows(gradient.numpy(), self._reads32, out.numpy())
            return
        sums = torch.segment_reduce(
            gradient.index_select(0, self._readers), "sum", offsets=self._reader_offsets, axis=0
        )
        out.copy_(sums)


class _Piece:
    """A module: views of its matrix (inputs x outputs) and bias in the weights and in the gradient."""

    def __init__(
        self, flat: Tensor, gradient: Tensor, begin: int, inputs: int, outputs: int
    ) -> None:
        end = begin + inputs * outputs
        self.matrix = flat[begin:end].view(inputs, outputs)
        self.bias = flat[end : end + outputs]
        self.matrix_gradient = gradient[begin:end].view(inputs, outputs)
        self.bias_gradient = gradient[end : end + outputs]
        self.turned = self.matrix.t()

    def apply(self, x: Tensor, out: Tensor) -> None:
        torch.addmm(self.bias, x, self.matrix, out=out)

    def learn(self, x: Tensor, gradient: Tensor) -> None:
        torch.mm(x.t(), gradient, out=self.matrix_gradient)
        torch.sum(gradient, 0, out=self.bias_gradient)

    def back(self, gradient: Tensor, out: Tensor) -> None:
        torch.mm(gradient, self.turned, out=out)


class _SkipPiece(_Piece):
    """A proposition module with a second input, its own output in the previous layer."""

    def __init__(
        self, flat: Tensor, gradient: Tensor, begin: int, inputs: int, outputs: int, hidden: int
    ) -> None:
        super().__init__(flat, gradient, begin, inputs, outputs)
        split = inputs - hidden
        self.skip, self.skip_gradient = self.matrix[split:], self.matrix_gradient[split:]
        self.matrix, self.matrix_gradient = self.matrix[:split], self.matrix_gradient[:split]
        self.turned, self.turned_skip = self.matrix.t(), self.skip.t()


class UnionNetwork:
    """An ASNet whose parameters are one flat tensor, `flat`, with its gradient, `gradient`."""

    def __init__(self, weights: Weights, *, dropout: float = 0.0, device: str = "cpu") -> None:
        self.shape: Shape = weights.shape
        self.hidden = weights.hidden
        self.layers = weights.layers
        self.dropout = dropout
        self.flat: Tensor = torch.as_tensor(to_flat(weights)).to(device)
        self.gradient: Tensor = torch.zeros_like(self.flat)
        self.relations = [len(own) for own in self.shape.relations]
        self.pieces: dict[str, Any] = {}
        begin = 0
        for size in modules(self.shape, self.hidden, self.layers):
            sizes = (begin, size.inputs, size.outputs)
            skips = size.name.startswith("proposition.") and not size.name.startswith(
                "proposition.0."
            )
            self.pieces[size.name] = (
                _SkipPiece(self.flat, self.gradient, *sizes, self.hidden)
                if skips
                else _Piece(self.flat, self.gradient, *sizes)
            )
            begin += (size.inputs + 1) * size.outputs
        # Of each layer: the modules of the schemas, and of the predicates.
        self.actions = [
            [self.pieces[f"action.{layer}.{schema.name}"] for schema in self.shape.schemas]
            for layer in range(self.layers + 1)
        ]
        self.propositions = [
            [self.pieces[f"proposition.{layer}.{name}"] for name, _ in self.shape.predicates]
            for layer in range(self.layers)
        ]

    def to_weights(self, training: dict[str, Any]) -> Weights:
        return from_flat(self.flat.cpu().numpy(), self.shape, self.hidden, self.layers, training)


class _Features:
    """The output of a layer: before dropout (`own`), and as the next layers read it (`shown`, part of a table)."""

    def __init__(self, shown: Tensor, groups: list[int], drops: bool) -> None:
        self.shown = shown
        self.own = torch.empty_like(shown) if drops else shown
        self.groups = self.own.split(groups)
        self.shown_groups = shown.split(groups)
        self.mask: Tensor = torch.empty_like(shown) if drops else None

    def finish(self, dropout: float, generator: Any) -> None:
        """ELU and dropout, once the sums are there."""
        torch.nn.functional.elu_(self.own)
        if self.mask is None:
            return
        if generator is None or dropout == 0:
            self.mask.fill_(1.0)
        else:
            # A random byte for each number is enough, and eight times cheaper than a random number.
            dropped = max(1, round(256 * dropout))
            count = self.own.numel()
            words = torch.empty(-(-count // 8), dtype=torch.int64, device=self.own.device)
            words.random_(-(2**63), None, generator=generator)
            random = words.view(torch.uint8)[:count].view(self.own.shape)
            torch.mul(random >= dropped, 256 / (256 - dropped), out=self.mask)
        torch.mul(self.own, self.mask, out=self.shown)

    def back(self, gradient: Tensor) -> Tensor:
        """Turns the gradient of `shown` into that of the sums."""
        if self.mask is not None:
            gradient.mul_(self.mask)
        return torch.ops.aten.elu_backward(gradient, 1.0, 1.0, 1.0, True, self.own)


class Workspace:
    """The buffers of a network on a plan."""

    def __init__(self, network: UnionNetwork, plan: PlanTensors) -> None:
        self.network, self.plan = network, plan
        h, device = network.hidden, plan.device
        facts, operators = plan.fact_rows, plan.operator_rows

        def empty(*size: int, dtype: Any = torch.float32) -> Tensor:
            return torch.empty(size, dtype=dtype, device=device)

        slots = [len(schema.slots) + 1 for schema in network.shape.schemas]
        reads = [n * k for n, k in zip(plan.operator_groups, slots, strict=True)]
        pools = [n * r for n, r in zip(plan.fact_groups, network.relations, strict=True)]

        def read_views(buffer: Tensor) -> list[Tensor]:
            parts = buffer.split(reads)
            shapes = zip(parts, plan.operator_groups, slots, strict=True)
            return [part.view(n, k * h) for part, n, k in shapes]

        def pool_views(buffer: Tensor) -> list[Tensor]:
            parts = buffer.split(pools)
            shapes = zip(parts, plan.fact_groups, network.relations, strict=True)
            return [part.view(n, r * h) for part, n, r in shapes]

        # A table of each layer: facts, operators, and a row for what is missing.
        self.tables = [empty(facts + operators + 1, h) for _ in range(network.layers)]
        for table in self.tables:
            table[-1] = EMPTY
        self.facts = [_Features(t[:facts], plan.fact_groups, True) for t in self.tables]
        self.operators = [
            _Features(t[facts : facts + operators], plan.operator_groups, layer > 0)
            for layer, t in enumerate(self.tables)
        ]
        self.pooled = [empty(plan.segments, h) for _ in self.tables]
        self.pooled_views = [pool_views(buffer) for buffer in self.pooled]
        self.winners = [empty(plan.segments, h, dtype=torch.int32) for _ in self.tables]
        self.reads = [empty(sum(reads), h) for _ in self.tables]
        self.read_views = [read_views(buffer) for buffer in self.reads]
        self.logits = torch.zeros((operators + 1, 1), device=device)
        self.logit_groups = self.logits[:operators].split(plan.operator_groups)
        # Gradients; the same buffers serve all layers.
        self.table_gradient = empty(facts + operators + 1, h)
        self.read_gradient = empty(sum(reads), h)
        self.read_gradient_views = read_views(self.read_gradient)
        self.pooled_gradient = empty(plan.segments, h)
        self.pooled_gradient_views = pool_views(self.pooled_gradient)
        self.carried = empty(facts, h)  # to the facts of the layer before, by the skip inputs
        self.carried_groups = self.carried.split(plan.fact_groups)

    def forward(self, inputs: list[Tensor], generator: Any = None) -> Tensor:
        """Places x operators: the logits, from the inputs of each schema; with a generator, dropout is on."""
        network, plan = self.network, self.plan
        for piece, x, out in zip(network.actions[0], inputs, self.operators[0].groups, strict=True):
            piece.apply(x, out)
        self.operators[0].finish(0.0, None)
        for layer in range(network.layers):
            plan.segment_max(self.operators[layer].shown, self.pooled[layer], self.winners[layer])
            facts = self.facts[layer]
            for p, piece in enumerate(network.propositions[layer]):
                piece.apply(self.pooled_views[layer][p], facts.groups[p])
                if layer:
                    facts.groups[p].addmm_(self.facts[layer - 1].shown_groups[p], piece.skip)
            facts.finish(network.dropout, generator)
            torch.index_select(self.tables[layer], 0, plan.action_index, out=self.reads[layer])
            last = layer + 1 == network.layers
            outs = self.logit_groups if last else self.operators[layer + 1].groups
            actions = network.actions[layer + 1]
            for piece, x, out in zip(actions, self.read_views[layer], outs, strict=True):
                piece.apply(x, out)
            if not last:
                self.operators[layer + 1].finish(network.dropout, generator)
        outputs = self.logits.view(-1).index_select(0, plan.output_index)
        return outputs.view(-1, plan.output_width)

    def backward(self, inputs: list[Tensor], gradient: Tensor) -> None:
        """Puts the gradient of all weights into that of the network, from that of the logits."""
        network, plan = self.network, self.plan
        facts, operators = plan.fact_rows, plan.operator_rows
        rows = gradient.reshape(-1).index_select(0, plan.output_of_row)[:, None]
        for layer in reversed(range(network.layers)):
            parts = rows.split(plan.operator_groups)
            for a, piece in enumerate(network.actions[layer + 1]):
                piece.learn(self.read_views[layer][a], parts[a])
                piece.back(parts[a], self.read_gradient_views[a])
            plan.add_to_read(self.read_gradient, self.table_gradient)
            of_facts = self.table_gradient[:facts]
            of_operators = self.table_gradient[facts : facts + operators]
            if layer + 1 < network.layers:
                of_facts.add_(self.carried)
            sums = self.facts[layer].back(of_facts).split(plan.fact_groups)
            for p, piece in enumerate(network.propositions[layer]):
                piece.learn(self.pooled_views[layer][p], sums[p])
                piece.back(sums[p], self.pooled_gradient_views[p])
                if layer:
                    before = self.facts[layer - 1].shown_groups[p]
                    torch.mm(before.t(), sums[p], out=piece.skip_gradient)
                    torch.mm(sums[p], piece.turned_skip, out=self.carried_groups[p])
            own = self.operators[layer]
            plan.add_to_winners(
                self.pooled_gradient,
                self.winners[layer],
                own.shown,
                self.pooled[layer],
                of_operators,
            )
            rows = own.back(of_operators)
        parts = rows.split(plan.operator_groups)
        for piece, x, part in zip(network.actions[0], inputs, parts, strict=True):
            piece.learn(x, part)


def cross_entropy(logits: Tensor, applicable: Tensor, target: Tensor) -> Tensor:
    """Between the policy and the target, the mean over places."""
    normaliser = torch.logsumexp(logits.masked_fill(~applicable, -math.inf), 1)
    return (normaliser - (target * logits).sum(1)).mean()


def cross_entropy_gradient(logits: Tensor, applicable: Tensor, target: Tensor) -> Tensor:
    chances = torch.softmax(logits.masked_fill(~applicable, -math.inf), 1)
    return chances.sub_(target).mul_(1 / len(logits))


FLOOR = 1e-6  # of what a logarithm is taken of in the binary loss


def binary_entropy(logits: Tensor, applicable: Tensor, target: Tensor) -> Tensor:
    """A binary cross-entropy for each operator between its chance and its target, summed; the mean over places."""
    chances = torch.softmax(logits.masked_fill(~applicable, -math.inf), 1)
    hit = target * chances.clamp(min=FLOOR).log()
    miss = (1 - target) * (1 - chances).clamp(min=FLOOR).log()
    return -(hit + miss).sum(1).mean()


def binary_entropy_gradient(logits: Tensor, applicable: Tensor, target: Tensor) -> Tensor:
    """The gradient of the floored logarithm, which is 0 below the floor."""
    chances = torch.softmax(logits.masked_fill(~applicable, -math.inf), 1)
    rest = 1 - chances
    of_chances = (1 - target) / rest.clamp(min=FLOOR) * (rest > FLOOR)
    of_chances.sub_(target / chances.clamp(min=FLOOR) * (chances > FLOOR))
    of_chances.sub_((chances * of_chances).sum(1, keepdim=True))
    return of_chances.mul_(chances).mul_(1 / len(logits))


def to_flat(weights: Weights) -> Floats:
    """The numbers of all modules, matrices input by input."""
    parts = []
    for module in modules(weights.shape, weights.hidden, weights.layers):
        parts.append(np.ascontiguousarray(weights.tensors[f"{module.name}.weight"].T).ravel())
        parts.append(weights.tensors[f"{module.name}.bias"].ravel())
    return np.concatenate(parts).astype(np.float32)


def from_flat(
    flat: Floats, shape: Shape, hidden: int, layers: int, training: dict[str, Any]
) -> Weights:
    tensors: dict[str, Floats] = {}
    begin = 0
    for module in modules(shape, hidden, layers):
        end = begin + module.inputs * module.outputs
        matrix = flat[begin:end].reshape(module.inputs, module.outputs)
        tensors[f"{module.name}.weight"] = np.ascontiguousarray(matrix.T)
        tensors[f"{module.name}.bias"] = flat[end : end + module.outputs].copy()
        begin = end + module.outputs
    return Weights(shape, hidden, layers, tensors, training)


__all__ = [
    "PlanTensors",
    "Tensor",
    "UnionNetwork",
    "Workspace",
    "binary_entropy",
    "binary_entropy_gradient",
    "cross_entropy",
    "cross_entropy_gradient",
    "from_flat",
    "has_cuda",
    "to_flat",
]
