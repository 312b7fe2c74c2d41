"""Train a small relational network on ferry and write it for `rgnn:`, as `ferry-rgnn` of the zoo was made.

    python examples/train_rgnn.py OUT [EPOCHS [SEED]]

It needs PyTorch and a minute. The network learns the distance to the goal in all states of three small tasks. The
forward pass is the one of docs/policies/rgnn.md, written so that gradients flow; Misstep's own is faster and has none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import misstep
from misstep.policies.gnn.batching import Batch, Batcher
from misstep.policies.gnn.checkpoint import (
    GOAL,
    MODULES,
    UPDATE,
    Checkpoint,
    Relation,
    weight_shapes,
)
from misstep.policies.gnn.encoding import Encoding, encode
from misstep.policies.gnn.noise import object_noise
from misstep.policies.rgnn.model_file import write_model
from misstep.tasks.census import state_space
from misstep.tasks.task import Task

WIDTH, ROUNDS = 8, 4
STATE = (Relation("at", 2), Relation("at-ferry", 1), Relation("on", 1), Relation("empty-ferry", 0))
TYPES = (Relation("car", 1), Relation("location", 1))
HALF = (*STATE, *TYPES)
RELATIONS = (*HALF, *(Relation(r.name + GOAL, r.arity) for r in HALF))
RATE = 2e-3
TASKS = ((1, 3), (2, 2), (2, 3))

Weights = dict[str, Any]


def layers(weights: Weights, name: str, inputs: Any, pair: tuple[str, str] = ("0", "2")) -> Any:
    first, second = (f"{name}.{part}" for part in pair)
    hidden = torch.relu(inputs @ weights[f"{first}.weight"].T + weights[f"{first}.bias"])
    return hidden @ weights[f"{second}.weight"].T + weights[f"{second}.bias"]


def values(weights: Weights, encoding: Encoding, batch: Batch) -> Any:
    """The value of each state of a batch. Relations without atoms in the batch send no messages."""
    noise = torch.zeros(encoding.node_count, WIDTH)
    noise[:, WIDTH // 2 :] = torch.as_tensor(object_noise(0, encoding.node_count, WIDTH // 2))
    nodes = noise.repeat(batch.state_count, 1)
    for _ in range(ROUNDS):
        messages, start = [], 0
        for relation, rows in zip(encoding.relations, batch.row_counts, strict=True):
            if rows:
                inputs = nodes[batch.row_node[start : start + rows]]
                inputs = inputs.reshape(-1, relation.arity * WIDTH)
                name = f"{MODULES}.{RELATIONS.index(relation)}"
                messages.append(layers(weights, name, inputs).reshape(-1, WIDTH))
                start += rows
        sent = 8 * torch.cat(messages)
        # One greatest message for each state; in use it is one for all successors of a state.
        most = torch.full((batch.group_count,), -torch.inf)
        most.scatter_reduce_(0, batch.row_group, sent.detach().amax(dim=1), "amax")
        sent = torch.exp(sent - most[batch.row_group, None])
        sums = torch.zeros_like(nodes).index_add(0, batch.row_node, sent)
        aggregated = (torch.log(sums + 1e-16) + most[batch.node_group, None]) / 8
        nodes = layers(weights, UPDATE, torch.cat([aggregated, nodes], dim=1))
    pooled = layers(weights, "readout", nodes, ("pre.0", "pre.2"))
    pooled = pooled.view(batch.state_count, -1, WIDTH).sum(dim=1)
    return layers(weights, "readout", pooled, ("post.0", "post.2")).squeeze(1).abs()


def lesson(cars: int, locations: int) -> tuple[Encoding, Batch, Any]:
    """All states of a task, and their distances from the goal."""
    task = misstep.load_task(misstep.generate("ferry", cars=cars, locations=locations, seed=0))
    assert isinstance(task, Task)
    space = state_space(task)
    states = space.states().astype(np.int32)
    encoding = encode(task, RELATIONS, "ferry")
    batch = Batcher(encoding, "cpu").build(states, np.arange(len(states)), len(states))
    return encoding, batch, torch.as_tensor(space.h_star, dtype=torch.float32)


def main() -> None:
    torch.manual_seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    torch.set_num_threads(1)
    shapes = weight_shapes(RELATIONS, WIDTH, False)
    weights = {
        name: (torch.randn(shape) / shape[-1] ** 0.5 * (len(shape) > 1)).requires_grad_()
        for name, shape in shapes.items()
    }
    lessons = [lesson(*sizes) for sizes in TASKS]
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    optimiser = torch.optim.Adam(weights.values(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for epoch in range(epochs):
        optimiser.zero_grad()
        loss = sum(((values(weights, e, b) - h) ** 2).mean() for e, b, h in lessons)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimiser.step()
        schedule.step()
        if epoch % 100 == 0 or epoch == epochs - 1:
            print(epoch, loss.item(), flush=True)
    stored = {name: weight.detach() for name, weight in weights.items()}
    write_model(Checkpoint(RELATIONS, WIDTH, ROUNDS, stored, False, ""), Path(sys.argv[1]))


if __name__ == "__main__":
    main()
