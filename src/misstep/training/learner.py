"""Adam on random minibatches: what happens inside an epoch once the data is there. Needs PyTorch.

An epoch is a function of the weights, the moments of the optimiser, the data and a seed. It has a random generator of
its own, so nothing that happens elsewhere in the process changes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from misstep.errors import MisstepError
from misstep.policies.asnet.structure import Structure
from misstep.policies.asnet.weights import Weights
from misstep.tasks.task import Task
from misstep.training.adam import Adam, Moments
from misstep.training.network import (
    PlanTensors,
    Tensor,
    UnionNetwork,
    Workspace,
    cross_entropy,
    cross_entropy_gradient,
)
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings
from misstep.training.union import Encoder, Plan, share_places

LOSS_SAMPLES = 4096  # the loss is measured on that many samples, spread evenly, if there are more


class Model(NamedTuple):
    """Everything that training goes on from."""

    weights: Weights
    moments: Moments | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices are too small to be shared out, and sums would depend on who gets which part."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Learner:
    """Holds the data in the form that minibatches are gathered from."""

    def __init__(
        self,
        tasks: list[Task],
        structures: list[Structure],
        settings: LearnerSettings,
        device: str = "cpu",
    ) -> None:
        self.tasks = tasks
        self.settings = settings
        self.device = device
        self.structures = structures
        self.shape = structures[0].shape
        self.data = _Data(tasks, structures, device)
        self._plans: dict[tuple[int, ...], PlanTensors] = {}

    def epoch(self, model: Model, samples: Samples, seed: int) -> tuple[Model, float]:
        """Train for an epoch; returns the new model and its loss on the data, without dropout."""
        if len(samples) == 0:
            raise MisstepError(
                "there is nothing to learn from: no state with a known good decision",
                hint="use smaller training tasks, or a teacher that solves these",
            )
        with one_thread():
            return self._epoch(model, samples, seed)

    def _epoch(self, model: Model, samples: Samples, seed: int) -> tuple[Model, float]:
        self.data.update(samples)
        network = UnionNetwork(model.weights, dropout=self.settings.dropout, device=self.device)
        settings = self.settings
        optimiser = Adam(
            network.flat,
            model.moments,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            clip=settings.clip,
        )
        random = np.random.Generator(np.random.PCG64(seed))
        generator = torch.Generator(device=self.device).manual_seed(seed % 2**63)
        groups = self._groups()
        spaces = {copies: Workspace(network, self._plan(copies)) for copies in groups}
        for step in range(self.settings.steps):
            copies = groups[step % len(groups)]
            self.gradient(spaces[copies], self.data.draw(copies, random), generator)
            optimiser.step(network.gradient)
        return self._finish(network, optimiser, model, spaces)

    def _finish(
        self,
        network: UnionNetwork,
        optimiser: Adam,
        model: Model,
        spaces: dict[tuple[int, ...], Workspace],
    ) -> tuple[Model, float]:
        loss = self._overall_loss(spaces)
        if not math.isfinite(loss):
            raise MisstepError(
                "the training has diverged: the loss is no longer a number",
                hint="use a smaller learning rate",
            )
        weights = network.to_weights(model.weights.training)
        return Model(weights, optimiser.moments()), loss

    def _groups(self) -> list[tuple[int, ...]]:
        """The compositions of minibatches, which take turns: one unless there are more tasks than places."""
        counts = self.data.counts
        size = self.settings.batch_size
        present = [t for t, count in enumerate(counts) if count]
        rounds = [present[i : i + size] for i in range(0, len(present), size)]
        groups = []
        for own in rounds:
            weights = [0.0] * len(counts)
            for t in own:
                weights[t] = float(counts[t]) if self.settings.share == "data" else 1.0
            groups.append(share_places(weights, size))
        return groups

    def _plan(self, copies: tuple[int, ...]) -> PlanTensors:
        if copies not in self._plans:
            if len(self._plans) > 16:
                self._plans.clear()  # compositions of earlier data never come back
            used = [t for t, c in enumerate(copies) if c]
            plan = Plan(
                self.shape,
                tuple(self.structures[t] for t in used),
                tuple(self.tasks[t].operator_count for t in used),
                tuple(copies[t] for t in used),
            )
            self._plans[copies] = PlanTensors(plan, self.device)
        return self._plans[copies]

    def gradient(self, space: Workspace, chosen: Tensor, generator: Any = None) -> None:
        """Put the gradient of the loss on the chosen samples into that of the network."""
        inputs, applicable, target = self.data.batch(space.plan, chosen)
        logits = space.forward(inputs, generator)
        space.backward(inputs, cross_entropy_gradient(logits, applicable, target))

    def loss(self, space: Workspace, chosen: Tensor) -> float:
        """Cross-entropy between the policy and the uniform choice among the good operators."""
        inputs, applicable, target = self.data.batch(space.plan, chosen)
        return float(cross_entropy(space.forward(inputs), applicable, target))

    def _overall_loss(self, spaces: dict[tuple[int, ...], Workspace]) -> float:
        losses = [
            self.loss(space, chosen)
            for copies, space in spaces.items()
            for chosen in self.data.sweep(copies, LOSS_SAMPLES // len(spaces))
        ]
        return sum(losses) / len(losses)


class _Data:
    """Inputs and targets of all samples, a row an operator, so that minibatches are gathers."""

    def __init__(self, tasks: list[Task], structures: list[Structure], device: str) -> None:
        self.tasks = tasks
        self.device = device
        self.encoders = [
            Encoder(structure, task.operator_count)
            for task, structure in zip(tasks, structures, strict=True)
        ]
        self.counts = [0] * len(tasks)
        self._seen = [0] * len(tasks)
        self._weights: list[list[float]] = [[] for _ in tasks]
        self._cumulative: list[NDArray[np.float64]] = [np.empty(0) for _ in tasks]
        self._uniform = [True] * len(tasks)
        schemas = len(structures[0].shape.schemas)
        self._rows: list[list[NDArray[np.int8]]] = [[] for _ in range(schemas)]
        self._lengths = [0] * schemas
        self._masks: list[NDArray[np.bool_]] = []
        self._targets: list[NDArray[np.float32]] = []
        # Padding comes first: operators that a task does not have are neither applicable nor good.
        self._outputs = 1
        self._places: list[list[NDArray[np.int64]]] = [[] for _ in tasks]
        self._ready: dict[str, Any] = {}

    def update(self, samples: Samples) -> None:
        changed = not self._ready
        for t, own in enumerate(samples.per_task):
            new = own.samples[self._seen[t] :]
            if new:
                self._append(t, new)
                self._seen[t] = len(own.samples)
                changed = True
            weights = np.array([sample.weight for sample in own.samples])
            self._uniform[t] = bool(len(weights) == 0 or (weights == weights[0]).all())
            self._cumulative[t] = np.cumsum(weights)
        self.counts = list(self._seen)
        if changed:
            self._build()

    def _append(self, t: int, new: list[Any]) -> None:
        task = self.tasks[t]
        states = np.array([sample.state.values for sample in new], np.int32)
        offsets, operators = task.applicable_batch(states)
        applicable = np.zeros((len(new), task.operator_count), bool)
        applicable[np.repeat(np.arange(len(new)), np.diff(offsets)), operators] = True
        target = np.zeros((len(new), task.operator_count), np.float32)
        for i, sample in enumerate(new):
            target[i, list(sample.good)] = 1 / len(sample.good)
        # Where the rows of each sample begin: for each schema, and for the outputs.
        place = np.empty((len(new), len(self._rows) + 1), np.int64)
        for a, rows in enumerate(self.encoders[t].schema_rows(states, applicable)):
            place[:, a] = self._lengths[a] + np.arange(len(new)) * rows.shape[1]
            self._rows[a].append(rows.reshape(-1, rows.shape[2]))
            self._lengths[a] += rows.shape[0] * rows.shape[1]
        place[:, -1] = self._outputs + np.arange(len(new)) * task.operator_count
        self._outputs += applicable.size
        self._places[t].append(place)
        self._masks.append(applicable.ravel())
        self._targets.append(target.ravel())

    def _build(self) -> None:
        def tensor(array: Any) -> Tensor:
            return torch.as_tensor(array).to(self.device)

        # Kept in one piece each, so that the next epoch appends to one array.
        self._rows = [[np.concatenate(parts)] if parts else [] for parts in self._rows]
        self._masks = [np.concatenate(self._masks)]
        self._targets = [np.concatenate(self._targets)]
        self._places = [[np.concatenate(parts)] if parts else [] for parts in self._places]
        columns = len(self._rows) + 1
        places = [parts[0] if parts else np.empty((0, columns), np.int64) for parts in self._places]
        self._first = np.concatenate([[0], np.cumsum([len(own) for own in places])])
        self._ready = {
            "rows": [tensor(parts[0]) if parts else None for parts in self._rows],
            "mask": tensor(np.concatenate([[False], self._masks[0]])),
            "target": tensor(np.concatenate([np.zeros(1, np.float32), self._targets[0]])),
            "place": tensor(np.concatenate(places)),
            "count": tensor(np.array([task.operator_count for task in self.tasks])),
        }

    def draw(self, copies: tuple[int, ...], random: np.random.Generator) -> Tensor:
        """Random samples, with replacement: as many of each task as the plan has places for it."""
        chosen = []
        for t, c in enumerate(copies):
            if c:
                # Numbers from raw integers, whose mapping is ours and not that of a numpy version.
                unit = random.bit_generator.random_raw(c) >> np.uint64(11)
                real = unit.astype(np.float64) / 2**53
                if self._uniform[t]:
                    own = (real * self.counts[t]).astype(np.int64)
                else:
                    total = self._cumulative[t][-1]
                    own = np.searchsorted(self._cumulative[t], real * total, side="right")
                chosen.append(self._first[t] + np.minimum(own, self.counts[t] - 1))
        return torch.as_tensor(np.concatenate(chosen)).to(self.device)

    def sweep(self, copies: tuple[int, ...], limit: int) -> list[Tensor]:
        """Batches that cover the data evenly."""
        rounds = max(
            -(-self.counts[t] // c) for t, c in enumerate(copies) if c
        )  # until the task with most samples a place is through
        rounds = max(1, min(rounds, limit // sum(copies)))
        batches = []
        for i in range(rounds):
            chosen = []
            for t, c in enumerate(copies):
                if c:
                    spread = (np.arange(c) * rounds + i) * self.counts[t] // (rounds * c)
                    chosen.append(self._first[t] + spread)
            batches.append(torch.as_tensor(np.concatenate(chosen)).to(self.device))
        return batches

    def batch(self, plan: PlanTensors, chosen: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
        ready = self._ready
        places = ready["place"].index_select(0, chosen)
        inputs = []
        for a, rows in enumerate(ready["rows"]):
            index = places[:, a].index_select(0, plan.place_of_row[a]) + plan.local_of_row[a]
            inputs.append(rows.index_select(0, index).to(torch.float32))
        outputs = plan.output_places(places[:, -1])
        return inputs, ready["mask"][outputs], ready["target"][outputs]


__all__ = ["Learner", "Model", "Moments"]
