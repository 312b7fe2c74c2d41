"""The relational network: messages along atoms, a smooth maximum at objects, a sum over objects.

It keeps one trait of the published networks that looks like an accident but changes values. The
smooth maximum

    agg = M + 1/8 * ln(1e-16 + sum over messages of exp(8 * (message - M)))

uses for M the greatest message of all successors of a state, not the greatest one at the object.
Messages more than 4.6 below M are cut off, so values depend on M, and M must be computed for each
decision separately, however many decisions share a batch.

The factor 8 is multiplied into the weights in advance, and divided out of those that read the
aggregate. It is a power of two, so nothing is rounded.
"""

from __future__ import annotations

from typing import Any

from misstep.policies.gnn.batching import Batch
from misstep.policies.gnn.checkpoint import Checkpoint
from misstep.policies.torch_extra import torch

SHARPNESS = 8.0
FLOOR = 1e-16


class RelationalNetwork(torch.nn.Module):  # type: ignore[misc]
    """Values of states, and logits of their solvability if the network has that head."""

    def __init__(self, checkpoint: Checkpoint, noise: Any) -> None:
        super().__init__()
        self.width = checkpoint.width
        self.rounds = checkpoint.rounds
        self.arities: list[int] = []
        for index, relation in enumerate(checkpoint.relations):
            if relation.arity > 0:
                (first, first_bias), (second, second_bias) = checkpoint.relation_layers(index)
                number = len(self.arities)
                self.arities.append(relation.arity)
                self._keep(f"relation{number}_in", first, first_bias)
                self._keep(f"relation{number}_out", second * SHARPNESS, second_bias * SHARPNESS)
        (first, first_bias), (second, second_bias) = checkpoint.update_layers()
        first = first.clone()
        first[:, : self.width] /= SHARPNESS
        self._keep("update_in", first, first_bias)
        self._keep("update_out", second, second_bias)
        self.heads = ["readout", "solvable_readout"] if checkpoint.has_solvable else ["readout"]
        for head in self.heads:
            for number, (weight, bias) in enumerate(checkpoint.readout_layers(head)):
                self._keep(f"{head}{number}", weight, bias)
        initial = torch.zeros(len(noise), self.width)
        initial[:, self.width // 2 :] = torch.as_tensor(noise)
        self.register_buffer("initial", initial)

    def _keep(self, name: str, weight: Any, bias: Any) -> None:
        # Stored transposed, so that products read both factors in the order of memory.
        self.register_buffer(f"{name}_weight", weight.t().contiguous())
        self.register_buffer(f"{name}_bias", bias.clone())

    def _linear(self, name: str, inputs: Any, out: Any = None) -> Any:
        weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")
        return torch.addmm(bias, inputs, weight, out=out)

    def forward(self, batch: Batch) -> tuple[Any, Any | None]:
        """The value of each state, and the logit of its solvability."""
        width = self.width
        # Aggregate and embedding lie side by side, as the update reads them.
        nodes = torch.empty(
            batch.state_count * len(self.initial), 2 * width, device=self.initial.device
        )
        embedding = nodes[:, width:]
        embedding.copy_(self.initial.repeat(batch.state_count, 1))
        messages = torch.empty(len(batch.row_node), width, device=nodes.device)
        hidden = torch.empty_like(messages)
        for _ in range(self.rounds):
            self._send(batch, embedding, hidden, messages)
            self._aggregate(batch, messages, nodes[:, :width])
            updated = self._linear("update_in", nodes).relu_()
            self._linear("update_out", updated, out=embedding)
        embedding = embedding.contiguous()
        value = self._read("readout", batch, embedding).abs_()
        if len(self.heads) == 1:
            return value, None
        return value, self._read("solvable_readout", batch, embedding)

    def _send(self, batch: Batch, embedding: Any, hidden: Any, messages: Any) -> None:
        """The message of every row, times the sharpness."""
        # The inputs are first stored in the buffer of the messages.
        torch.index_select(embedding, 0, batch.row_node, out=messages)
        parts = list(self._parts(batch, hidden, messages))
        for name, inputs, middle in parts:
            self._linear(f"{name}_in", inputs, out=middle)
        hidden.relu_()
        for name, outputs, middle in parts:
            self._linear(f"{name}_out", middle, out=outputs)

    def _parts(self, batch: Batch, hidden: Any, messages: Any) -> Any:
        """The rows of each relation, one per atom."""
        start = 0
        for number, (arity, rows) in enumerate(zip(self.arities, batch.row_counts, strict=True)):
            if rows:
                end, shape = start + rows, (rows // arity, arity * self.width)
                part = messages[start:end].view(shape), hidden[start:end].view(shape)
                yield f"relation{number}", *part
                start = end

    def _aggregate(self, batch: Batch, messages: Any, out: Any) -> None:
        """The smooth maximum of the messages at every node, times the sharpness."""
        greatest = torch.full((batch.group_count,), -torch.inf, device=messages.device)
        greatest.scatter_reduce_(0, batch.row_group, messages.amax(dim=1), "amax")
        messages.sub_(greatest[batch.row_group, None]).exp_()
        sums = torch.nn.functional.embedding_bag(
            batch.by_node, messages, batch.node_start, mode="sum"
        )
        sums = sums[: len(batch.node_group)]  # A padded batch has sums that belong to no node.
        sums.add_(FLOOR).log_()
        torch.add(sums, greatest[batch.node_group, None], out=out)

    def _read(self, head: str, batch: Batch, embedding: Any) -> Any:
        """One number per state: a network on each object, their sum, a network on the sum."""
        inner = self._linear(f"{head}1", self._linear(f"{head}0", embedding).relu_())
        inner = inner.view(batch.state_count, -1, self.width)
        if batch.visible is not None:
            inner.mul_(batch.visible[:, :, None])
        pooled = inner.sum(dim=1)
        return self._linear(f"{head}3", self._linear(f"{head}2", pooled).relu_()).squeeze(1)


__all__ = ["RelationalNetwork"]
