"""Adam on random minibatches: the part of an epoch after the data is collected. Needs PyTorch.

An epoch is a function of the weights, the moments of the optimiser, the data and a seed. It has its own random
generator, so nothing else in the process affects it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from misstep.errors import UndecidedError, UnsupportedError
from misstep.policies.asnet.structure import Structure
from misstep.policies.asnet.weights import Weights
from misstep.policies.torch_extra import torch
from misstep.tasks.task import Task
from misstep.training.adam import Adam, Moments
from misstep.training.minibatches import Minibatches
from misstep.training.network import (
    PlanTensors,
    Tensor,
    UnionNetwork,
    Workspace,
    binary_entropy,
    binary_entropy_gradient,
    cross_entropy,
    cross_entropy_gradient,
)
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings
from misstep.training.threads import one_thread
from misstep.training.union import Plan, share_places

LOSS_SAMPLES = 4096  # if there are more samples, the loss is measured on this many, spread evenly


class Model(NamedTuple):
    """Everything from which training continues."""

    weights: Weights
    moments: Moments | None = None


class Learner:
    """Holds the data in the form that minibatches are gathered from."""

    def __init__(
        self,
        tasks: list[Task],
        structures: list[Structure],
        settings: LearnerSettings,
        device: str = "cpu",
        *,
        fed: int = 0,
        ratio: float | None = None,
    ) -> None:
        """The last `fed` tasks together get the share `ratio` of each minibatch; None: the share of their data."""
        self.tasks = tasks
        self.settings = settings
        self.fed = len(tasks) - fed  # the first of these
        self.ratio = ratio
        self.device = device
        self.structures = structures
        self.shape = structures[0].shape
        self.data = Minibatches(tasks, structures, device)
        self._plans: dict[tuple[int, ...], PlanTensors] = {}

    def epoch(self, model: Model, samples: Samples, seed: int) -> tuple[Model, float]:
        """Train for an epoch; returns the new model and its loss on the data, without dropout."""
        if len(samples) == 0:
            raise UnsupportedError(
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
            weight_decay=settings.weight_decay if settings.decay == "penalty" else 0.0,
            clip=settings.clip,
            shrink=settings.weight_decay if settings.decay == "factor" else 0.0,
        )
        random = np.random.Generator(np.random.PCG64(seed))
        generator = torch.Generator(device=self.device).manual_seed(seed % 2**63)
        groups = self._groups()
        spaces = {copies: Workspace(network, self._plan(copies)) for copies in groups}
        roomy = Workspace(network, self._plan(self._room())) if self._mixed else None
        for step in range(self.settings.steps):
            if roomy is not None:
                self._mixed_gradient(network, roomy, random, generator)
            else:
                copies = groups[step % len(groups)]
                self.gradient(spaces[copies], self.data.draw(copies, random), generator)
            optimiser.step(network.gradient)
        noise = generator if settings.noisy_loss else None
        return self._finish(network, optimiser, model, spaces, noise)

    @property
    def _mixed(self) -> bool:
        return self.settings.sampling == "uniform"

    def _room(self) -> tuple[int, ...]:
        """A number of places for each task that a minibatch of any samples rarely exceeds. Making a plan for every
        composition would take longer than the step itself."""
        counts = np.array(self.data.counts, np.float64)
        size = min(self.settings.batch_size, int(counts.sum()))
        expected = counts / counts.sum() * size
        room = np.ceil(expected + 2 * np.sqrt(expected) + 1)
        return tuple(int(own) for own in np.minimum(np.minimum(room, counts), size))

    def _mixed_gradient(
        self, network: UnionNetwork, roomy: Workspace, random: np.random.Generator, generator: Any
    ) -> None:
        chosen = self.data.draw_any(self.settings.batch_size, random)
        counts = tuple(int(own) for own in self.data.per_task(chosen))
        room, space = self._room(), roomy
        if any(own > most for own, most in zip(counts, room, strict=True)):
            room, space = counts, Workspace(network, self._new_plan(counts))
        place, real = self.data.filled(chosen, room)
        self.gradient(space, place, generator, real)

    def _finish(
        self,
        network: UnionNetwork,
        optimiser: Adam,
        model: Model,
        spaces: dict[tuple[int, ...], Workspace],
        generator: Any,
    ) -> tuple[Model, float]:
        loss = self._overall_loss(spaces, generator)
        if not math.isfinite(loss):
            raise UndecidedError(
                "the training has diverged: the loss is no longer a number",
                hint="use a smaller learning rate",
            )
        weights = network.to_weights(model.weights.training)
        return Model(weights, optimiser.moments()), loss

    def _groups(self) -> list[tuple[int, ...]]:
        """The compositions of minibatches, used in turn: only one unless there are more tasks than places."""
        counts = self.data.counts
        size = self.settings.batch_size
        present = [t for t, count in enumerate(counts) if count]
        rounds = [present[i : i + size] for i in range(0, len(present), size)]
        groups = []
        for own in rounds:
            weights = [0.0] * len(counts)
            for t in own:
                weights[t] = float(counts[t]) if self.settings.share == "data" else 1.0
            if self.ratio is not None:
                for t in range(self.fed, len(counts)):
                    weights[t] = self.data.total(t) if weights[t] else 0.0
                weights = mixed(weights, self.fed, self.ratio)
            groups.append(share_places(weights, size))
        return groups

    def _plan(self, copies: tuple[int, ...]) -> PlanTensors:
        if copies not in self._plans:
            if len(self._plans) > 16:
                self._plans.clear()  # compositions for earlier data are never used again
            self._plans[copies] = self._new_plan(copies)
        return self._plans[copies]

    def _new_plan(self, copies: tuple[int, ...]) -> PlanTensors:
        used = [t for t, c in enumerate(copies) if c]
        plan = Plan(
            self.shape,
            tuple(self.structures[t] for t in used),
            tuple(self.tasks[t].operator_count for t in used),
            tuple(copies[t] for t in used),
        )
        return PlanTensors(plan, self.device)

    def gradient(
        self, space: Workspace, chosen: Tensor, generator: Any = None, real: Tensor | None = None
    ) -> None:
        """Compute the gradient of the loss on the chosen samples into the network's gradient; samples where `real`
        is 0 are padding."""
        inputs, applicable, target = self.data.batch(space.plan, chosen)
        logits = space.forward(inputs, generator)
        binary = self.settings.loss == "binary"
        slope = binary_entropy_gradient if binary else cross_entropy_gradient
        gradient = slope(logits, applicable, target)
        if real is not None:
            gradient.mul_((real * (len(real) / real.sum()))[:, None])
        space.backward(inputs, gradient)

    def loss(self, space: Workspace, chosen: Tensor, generator: Any = None) -> float:
        """The loss of the policy against the uniform choice among the good operators."""
        inputs, applicable, target = self.data.batch(space.plan, chosen)
        entropy = binary_entropy if self.settings.loss == "binary" else cross_entropy
        return float(entropy(space.forward(inputs, generator), applicable, target))

    def _overall_loss(
        self, spaces: dict[tuple[int, ...], Workspace], generator: Any = None
    ) -> float:
        losses = [
            self.loss(space, chosen, generator)
            for copies, space in spaces.items()
            for chosen in self.data.sweep(copies, LOSS_SAMPLES // len(spaces))
        ]
        return sum(losses) / len(losses)


def mixed(weights: list[float], fed: int, ratio: float) -> list[float]:
    """The weights, with those from `fed` on scaled to the share `ratio` of the total, if neither part is
    empty."""
    base, added = sum(weights[:fed]), sum(weights[fed:])
    if not base or not added:
        return weights
    own = [weight / base * (1 - ratio) for weight in weights[:fed]]
    return own + [weight / added * ratio for weight in weights[fed:]]


__all__ = ["Learner", "Model", "Moments", "mixed"]
