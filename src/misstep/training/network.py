"""The ASNet over a plan of several tasks, for gradients. Needs PyTorch.

All parameters live in one flat vector: an optimiser then does its handful of operations once instead of once for each
of some forty tensors. Matrices lie in it input by input, so that a block of inputs is a contiguous piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep import _core
from misstep.errors import MissingDependencyError
from misstep.policies.asnet.shape import Shape, modules
from misstep.policies.asnet.weights import Floats, Weights
from misstep.training.union import Plan

try:
    import torch
    from torch.nn import functional as F  # noqa: N812
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise MissingDependencyError(
        "training needs PyTorch, which is not installed", hint="pip install 'misstep[neural]'"
    ) from error

Tensor = Any  # mypy does not look into PyTorch
EMPTY = -1.0  # what an empty pool and a missing fact look like


def has_cuda() -> bool:
    return bool(torch.cuda.is_available())


class _Gather(torch.autograd.Function):  # type: ignore[misc]
    """Rows of a table."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, index32: Tensor) -> Tensor:
        ctx.save_for_backward(index, index32)
        ctx.rows = len(table)
        return table.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        index, index32 = ctx.saved_tensors
        out = gradient.new_zeros((ctx.rows, gradient.shape[1]))
        if gradient.device.type == "cpu":
            _core.scatter_rows(gradient.contiguous().numpy(), index32.numpy(), out.numpy())
        else:
            out.index_add_(0, index, gradient)
        return out, None, None


class _SegmentMax(torch.autograd.Function):  # type: ignore[misc]
    """Element-wise maxima of segments of rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, members: Tensor, offsets: Tensor) -> Tensor:
        segments = len(offsets) - 1
        out = x.new_empty((segments, x.shape[1]))
        winner = torch.empty(out.shape, dtype=torch.int32)
        _core.segment_max(
            x.detach().numpy(), members.numpy(), offsets.numpy(), EMPTY, out.numpy(), winner.numpy()
        )
        ctx.save_for_backward(winner)
        ctx.rows = len(x)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (winner,) = ctx.saved_tensors
        out = gradient.new_zeros((ctx.rows, gradient.shape[1]))
        _core.scatter_winners(gradient.contiguous().numpy(), winner.numpy(), out.numpy())
        return out, None, None


class PlanTensors:
    """The index tensors of a plan, on a device."""

    def __init__(self, plan: Plan, device: str = "cpu") -> None:
        self.plan = plan
        self.device = torch.device(device)
        self.operator_groups = [int(n) for n in plan.operator_groups]
        self.fact_groups = [int(n) for n in plan.fact_groups]
        self.place_of_row = [self._ids(rows) for rows in plan.place_of_row]
        self.local_of_row = [self._ids(rows) for rows in plan.local_of_row]
        self.action_index = self._ids(plan.action_index)
        self.action_index32 = self.action_index.to(torch.int32)
        members, offsets = plan.pools
        self.members = self._ids(members, torch.int32)
        self.offsets = self._ids(offsets, torch.int32)
        self.member_rows = self.members.to(torch.int64)
        lengths = np.diff(offsets)
        self.segment_of_member = self._ids(np.repeat(np.arange(len(lengths)), lengths))
        self.output_index = self._ids(plan.output_index.ravel())
        self.output_index32 = self.output_index.to(torch.int32)
        self.output_width = plan.output_index.shape[1]
        counts = np.array(plan.operator_counts)[plan.task_of_place][:, None]
        local = np.broadcast_to(np.arange(self.output_width), (plan.places, self.output_width))
        self._output_local = self._ids(local)
        self._output_there = self._ids(local < counts, torch.bool)

    def _ids(self, array: Any, dtype: Any = None) -> Tensor:
        tensor = torch.as_tensor(np.ascontiguousarray(array))
        return tensor.to(device=self.device, dtype=dtype or torch.int64)

    def output_places(self, first: Tensor) -> Tensor:
        """Where the operators of each place are in an array that has them from `first` on; 0 for none."""
        return torch.where(self._output_there, first[:, None] + self._output_local, 0)

    def segment_max(self, x: Tensor) -> Tensor:
        if self.device.type == "cpu":
            return _SegmentMax.apply(x, self.members, self.offsets)
        out = x.new_full((len(self.offsets) - 1, x.shape[1]), EMPTY)
        index = self.segment_of_member[:, None].expand(-1, x.shape[1])
        return out.scatter_reduce(0, index, x.index_select(0, self.member_rows), "amax")


class UnionNetwork:
    """An ASNet whose parameters are one flat tensor, `flat`."""

    def __init__(self, weights: Weights, *, dropout: float = 0.0, device: str = "cpu") -> None:
        self.shape: Shape = weights.shape
        self.hidden = weights.hidden
        self.layers = weights.layers
        self.dropout = dropout
        self.sizes = list(modules(self.shape, self.hidden, self.layers))
        self._pieces = self._piece_sizes()
        self._relations = [len(own) for own in self.shape.relations]
        flat = torch.as_tensor(to_flat(weights)).to(device)
        self.flat: Tensor = flat.requires_grad_()

    def _piece_sizes(self) -> list[int]:
        return [n for size in self.sizes for n in (size.inputs * size.outputs, size.outputs)]

    def parameters(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Matrix (inputs x outputs) and bias of each module, as views of `flat`."""
        pieces = self.flat.split(self._pieces)
        return {
            size.name: (pieces[2 * i].view(size.inputs, size.outputs), pieces[2 * i + 1])
            for i, size in enumerate(self.sizes)
        }

    def to_weights(self, training: dict[str, Any]) -> Weights:
        return from_flat(
            self.flat.detach().cpu().numpy(), self.shape, self.hidden, self.layers, training
        )

    def logits(self, plan: PlanTensors, inputs: list[Tensor], generator: Any = None) -> Tensor:
        """Places x operators, from the inputs of each schema; with a generator, dropout is on."""
        own = self.parameters()
        schemas = [schema.name for schema in self.shape.schemas]
        predicates = [name for name, _ in self.shape.predicates]
        h = self.hidden
        parts = []
        for name, x in zip(schemas, inputs, strict=True):
            matrix, bias = own[f"action.0.{name}"]
            parts.append(torch.addmm(bias, x, matrix))
        operators = F.elu(torch.cat(parts))
        minus = operators.new_full((1, h), EMPTY)
        segments = [n * r for n, r in zip(plan.fact_groups, self._relations, strict=True)]
        reads = [
            n * (len(schema.slots) + 1)
            for n, schema in zip(plan.operator_groups, self.shape.schemas, strict=True)
        ]
        facts: Tensor = None
        for layer in range(self.layers):
            pooled = plan.segment_max(operators).split(segments)
            before = facts.split(plan.fact_groups) if layer else ()
            parts = []
            for p, name in enumerate(predicates):
                matrix, bias = own[f"proposition.{layer}.{name}"]
                x = pooled[p].view(plan.fact_groups[p], self._relations[p] * h)
                if layer:
                    x = torch.cat([x, before[p]], 1)
                parts.append(torch.addmm(bias, x, matrix))
            facts = self._drop(F.elu(torch.cat(parts)), generator)
            table = torch.cat([facts, operators, minus])
            read = _Gather.apply(table, plan.action_index, plan.action_index32).split(reads)
            parts = []
            for a, name in enumerate(schemas):
                matrix, bias = own[f"action.{layer + 1}.{name}"]
                x = read[a].view(plan.operator_groups[a], matrix.shape[0])
                parts.append(torch.addmm(bias, x, matrix))
            operators = torch.cat(parts)
            if layer + 1 < self.layers:
                operators = self._drop(F.elu(operators), generator)
        padded = torch.cat([operators, operators.new_zeros((1, 1))])
        result = _Gather.apply(padded, plan.output_index, plan.output_index32)
        return result.view(-1, plan.output_width)

    def _drop(self, features: Tensor, generator: Any) -> Tensor:
        if generator is None or self.dropout == 0:
            return features
        # A random byte for each number is enough, and eight times cheaper than a random number.
        dropped = max(1, round(256 * self.dropout))
        words = torch.empty(
            -(-features.numel() // 8), dtype=torch.int64, device=features.device
        ).random_(-(2**63), None, generator=generator)
        random = words.view(torch.uint8)[: features.numel()].view(features.shape)
        return features * ((random >= dropped) * (256 / (256 - dropped)))


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


__all__ = ["PlanTensors", "Tensor", "UnionNetwork", "from_flat", "has_cuda", "to_flat"]
