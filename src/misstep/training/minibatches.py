"""The training data in the form that minibatches are gathered from. Needs PyTorch.

Inputs and targets of all samples are in a few long arrays with one row per operator. The data that an epoch adds is
encoded once and appended; a minibatch is then one gather for each schema.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.asnet.structure import Structure
from misstep.policies.torch_extra import torch
from misstep.tasks.task import Task
from misstep.training.network import PlanTensors, Tensor
from misstep.training.samples import Samples
from misstep.training.union import Encoder


class Minibatches:
    """Inputs and targets of all samples, with one row per operator, so that minibatches are gathers."""

    def __init__(self, tasks: list[Task], structures: list[Structure], device: str) -> None:
        self.tasks = tasks
        self.device = device
        self.encoders = [
            Encoder(structure, task.operator_count)
            for task, structure in zip(tasks, structures, strict=True)
        ]
        self.counts = [0] * len(tasks)
        self._seen = [0] * len(tasks)
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
        self._rows = [[np.concatenate(parts)] for parts in self._rows]
        self._masks = [np.concatenate(self._masks)]
        self._targets = [np.concatenate(self._targets)]
        self._places = [[np.concatenate(parts)] if parts else [] for parts in self._places]
        columns = len(self._rows) + 1
        places = [parts[0] if parts else np.empty((0, columns), np.int64) for parts in self._places]
        self._first = np.concatenate([[0], np.cumsum([len(own) for own in places])])
        self._ready = {
            "rows": [tensor(parts[0]) for parts in self._rows],
            "mask": tensor(np.concatenate([[False], self._masks[0]])),
            "target": tensor(np.concatenate([np.zeros(1, np.float32), self._targets[0]])),
            "place": tensor(np.concatenate(places)),
        }

    def total(self, t: int) -> float:
        """The weights of all samples of a task together."""
        return float(self._cumulative[t][-1]) if self.counts[t] else 0.0

    def draw(self, copies: tuple[int, ...], random: np.random.Generator) -> Tensor:
        """Random samples, with replacement: as many of each task as the plan has places for it."""
        chosen = []
        for t, c in enumerate(copies):
            if c:
                # From raw integers, so that the mapping does not depend on the version of numpy.
                unit = random.bit_generator.random_raw(c) >> np.uint64(11)
                real = unit.astype(np.float64) / 2**53
                if self._uniform[t]:
                    own = (real * self.counts[t]).astype(np.int64)
                else:
                    total = self._cumulative[t][-1]
                    own = np.searchsorted(self._cumulative[t], real * total, side="right")
                chosen.append(self._first[t] + np.minimum(own, self.counts[t] - 1))
        return torch.as_tensor(np.concatenate(chosen)).to(self.device)

    def draw_any(self, size: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Random samples, uniform over all tasks and none twice: their places in the data, in order of tasks."""
        raw = random.bit_generator.random_raw(int(self._first[-1]))
        return np.sort(np.argsort(raw, kind="stable")[:size])

    def per_task(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of these each task has."""
        return np.diff(np.searchsorted(chosen, self._first))

    def filled(self, chosen: NDArray[np.int64], copies: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """The samples on the places of a plan with enough places for each task, and which places are not padding."""
        rows, real = [], []
        begin = 0
        for t, count in enumerate(self.per_task(chosen).tolist()):
            own = chosen[begin : begin + count]
            begin += count
            padding = np.full(copies[t] - count, self._first[t], np.int64)
            rows += [own, padding]
            real += [np.ones(count, np.float32), np.zeros(len(padding), np.float32)]
        place = torch.as_tensor(np.concatenate(rows)).to(self.device)
        return place, torch.as_tensor(np.concatenate(real)).to(self.device)

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


__all__ = ["Minibatches"]
