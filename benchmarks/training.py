"""An epoch of training against a plain PyTorch implementation, and a test of a checkpoint against an epoch.

The plain one does what the definition says, a task at a time: gather the slots of each operator, concatenate, multiply;
gather the operators of each fact, padded, take the maximum, concatenate, multiply. Both train on gripper with 1 to 4
balls: 700 minibatches of 64 states, 16 a task, and take turns.

    python -m benchmarks.training [--device cuda] [--steps 700] [--runs 3]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from benchmarks.common import alternate, remark, report
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import modules
from misstep.policies.asnet.structure import MISSING, Structure, structure_of
from misstep.policies.asnet.weights import Weights, random_weights
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from misstep.training.learner import Learner, Model
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings
from misstep.training.teachers import ExhaustiveTeacher
from misstep.training.testing import TestedTask, TestSettings
from misstep.training.union import Encoder

BALLS = (1, 2, 3, 4)
VALIDATION = 10
POOL = 50


def gripper(balls: int) -> Task:
    folder = Path(tempfile.mkdtemp(prefix="misstep-bench-"))
    return load_task(*write_instance(generate("gripper", balls=balls, seed=1), folder))


class PlainTask:
    """The tables of one task, as one would write them down first."""

    def __init__(self, task: Task, structure: Structure, samples: Any, device: str) -> None:
        s = structure
        facts, operators = len(s.facts), task.operator_count
        self.facts, self.operators = facts, operators
        self.related = [
            torch.as_tensor(np.where(rows == MISSING, facts, rows)).long().to(device)
            for rows in s.related
        ]
        self.pools: list[list[Any]] = []
        for p, relations in enumerate(s.shape.relations):
            own = range(s.predicate_begin[p], s.predicate_begin[p + 1])
            tables = []
            for a, k in relations:
                members = [
                    np.flatnonzero(s.related[a][:, k] == fact) + s.schema_begin[a] for fact in own
                ]
                longest = max([1, *map(len, members)])
                table = np.full((len(own), longest), operators)
                for row, m in enumerate(members):
                    table[row, : len(m)] = m
                tables.append(torch.as_tensor(table).long().to(device))
            self.pools.append(tables)
        self.order = torch.as_tensor(np.argsort(s.operators)).to(device)
        states = np.array([sample.state.values for sample in samples], np.int32)
        offsets, found = task.applicable_batch(states)
        applicable = np.zeros((len(states), operators), bool)
        applicable[np.repeat(np.arange(len(states)), np.diff(offsets)), found] = True
        target = np.zeros((len(states), operators), np.float32)
        for i, sample in enumerate(samples):
            target[i, list(sample.good)] = 1 / len(sample.good)
        rows = Encoder(s, operators).schema_rows(states, applicable)
        self.inputs = [torch.as_tensor(own.astype(np.float32)).to(device) for own in rows]
        self.applicable = torch.as_tensor(applicable).to(device)
        self.target = torch.as_tensor(target).to(device)
        self.count = len(states)


class Plain(torch.nn.Module):  # type: ignore[misc]
    """The network by its definition, on one task at a time; features are (states, items, hidden)."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.shape, self.hidden, self.layers = weights.shape, weights.hidden, weights.layers
        self.linear = torch.nn.ModuleDict()
        for module in modules(self.shape, self.hidden, self.layers):
            layer = torch.nn.Linear(module.inputs, module.outputs)
            with torch.no_grad():
                layer.weight.copy_(torch.as_tensor(weights.tensors[f"{module.name}.weight"]))
                layer.bias.copy_(torch.as_tensor(weights.tensors[f"{module.name}.bias"]))
            self.linear[module.name.replace(".", "/")] = layer

    def loss(self, task: PlainTask, chosen: Any, dropout: float) -> Any:
        h, batch = self.hidden, len(chosen)
        schemas = [schema.name for schema in self.shape.schemas]
        phi = torch.cat(
            [
                F.elu(self.linear[f"action/0/{name}"](task.inputs[a][chosen]))
                for a, name in enumerate(schemas)
            ],
            1,
        )
        psi: Any = None
        for layer in range(self.layers):
            padded = torch.cat([phi, phi.new_full((batch, 1, h), -1.0)], 1)
            parts = []
            begin = 0
            for p, (name, _) in enumerate(self.shape.predicates):
                pooled = [padded[:, table].amax(2) for table in task.pools[p]]
                if layer:
                    count = pooled[0].shape[1]
                    pooled.append(psi[:, begin : begin + count])
                    begin += count
                x = self.linear[f"proposition/{layer}/{name}"](torch.cat(pooled, 2))
                parts.append(F.dropout(F.elu(x), dropout))
            psi = torch.cat(parts, 1)
            facts = torch.cat([psi, psi.new_full((batch, 1, h), -1.0)], 1)
            parts = []
            begin = 0
            for a, name in enumerate(schemas):
                related = task.related[a]
                slots = facts[:, related].flatten(2)
                own = phi[:, begin : begin + len(related)]
                begin += len(related)
                x = self.linear[f"action/{layer + 1}/{name}"](torch.cat([slots, own], 2))
                parts.append(x if layer + 1 == self.layers else F.dropout(F.elu(x), dropout))
            phi = torch.cat(parts, 1)
        logits = phi.squeeze(2)[:, task.order]
        masked = logits.masked_fill(~task.applicable[chosen], -torch.inf)
        return (masked.logsumexp(1) - (task.target[chosen] * logits).sum(1)).sum()


def plain_epoch(
    network: Plain, tasks: list[PlainTask], settings: LearnerSettings, seed: int
) -> None:
    optimiser = torch.optim.Adam(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    random = np.random.default_rng(seed)
    share = settings.batch_size // len(tasks)
    for _ in range(settings.steps):
        total = torch.zeros((), device=tasks[0].target.device)
        for task in tasks:
            chosen = torch.as_tensor(random.integers(0, task.count, share))
            total = total + network.loss(task, chosen.to(total.device), settings.dropout)
        optimiser.zero_grad()
        (total / settings.batch_size).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        optimiser.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    device = arguments.device
    torch.set_num_threads(1)
    tasks = [gripper(balls) for balls in BALLS]
    structures = [structure_of(task) for task in tasks]
    samples = Samples(tasks)
    for t, task in enumerate(tasks):
        samples.add_all(t, ExhaustiveTeacher(task).all_states())
    settings = LearnerSettings(steps=arguments.steps, share="equal")
    weights = random_weights(structures[0].shape, seed=1)
    learner = Learner(tasks, structures, settings, device)
    plain_tasks = [
        PlainTask(task, structure, samples[t].samples, device)
        for t, (task, structure) in enumerate(zip(tasks, structures, strict=True))
    ]
    check_same(learner, plain_tasks, samples, weights, device)
    models: list[Model] = []

    def synchronise() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    def ours() -> float:
        began = perf_counter()
        models.append(learner.epoch(Model(weights), samples, 1)[0])
        synchronise()
        return perf_counter() - began

    def plain() -> float:
        network = Plain(weights).to(device)
        began = perf_counter()
        plain_epoch(network, plain_tasks, settings, 1)
        synchronise()
        return perf_counter() - began

    epoch, peer = alternate(arguments.runs, ours, plain)
    remark(f"an epoch of {settings.steps} steps: {epoch:.2f} s, plain {peer:.2f} s")
    tested = [
        TestedTask(gripper(balls), TestSettings(pool_size=POOL))
        for balls in range(5, 5 + VALIDATION)
    ]
    own = [structure_of(one.task) for one in tested]

    def test() -> float:
        began = perf_counter()
        for one, structure in zip(tested, own, strict=True):
            one.test(ASNetPolicy(one.task, models[-1].weights, structure=structure))
        return perf_counter() - began

    (testing,) = alternate(arguments.runs, test)
    report(
        "training",
        {
            "device": device if device == "cpu" else torch.cuda.get_device_name(),
            "steps": settings.steps,
            "epoch_seconds": round(epoch, 3),
            "plain_epoch_seconds": round(peer, 3),
            "speedup": round(peer / epoch, 2),
            "test_seconds": round(testing, 3),
            "test_of_epoch": round(testing / epoch, 3),
        },
    )


def check_same(
    learner: Learner, plain_tasks: list[PlainTask], samples: Samples, weights: Weights, device: str
) -> None:
    """Both compute the same loss, so that the race is fair."""
    from misstep.training.network import UnionNetwork, Workspace

    learner.data.update(samples)
    (copies,) = learner._groups()
    chosen = learner.data.draw(copies, np.random.Generator(np.random.PCG64(1)))
    space = Workspace(UnionNetwork(weights, device=device), learner._plan(copies))
    loss = learner.loss(space, chosen)
    network = Plain(weights).to(device)
    total, first = 0.0, 0
    for t, count in enumerate(copies):
        local = chosen[first : first + count] - int(learner.data._first[t])
        total += network.loss(plain_tasks[t], local, 0.0).item()
        first += count
    assert abs(loss - total / sum(copies)) < 1e-3, (loss, total / sum(copies))


if __name__ == "__main__":
    main()
