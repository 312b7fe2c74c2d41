"""Double Q-learning of a fully connected network. Needs PyTorch.

Values are learnt in units of the largest reward, so that one learning rate suits all tasks; the file of the network
says how to convert them back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError
from misstep.policies.networks.mlp import Layer, MlpWeights, Normalisation
from misstep.policies.torch_extra import torch
from misstep.training.qlearning.environments import Rows
from misstep.training.qlearning.replay import Batch
from misstep.training.qlearning.settings import QSettings

Tensor = Any  # mypy does not look into PyTorch
Floats = NDArray[np.float32]
Array = NDArray[np.float64]
MOMENTS = ("exp_avg", "exp_avg_sq")


class Learner:
    """The network, the target that follows it slowly, and the optimiser."""

    def __init__(
        self,
        settings: QSettings,
        mean: Array,
        range: Array,
        labels: int,
        random: np.random.Generator,
        device: str = "cpu",
        init: MlpWeights | None = None,
    ) -> None:
        """With `init` it begins as that network, whose outputs are in units of the largest reward."""
        if init is not None:
            assert init.normalisation is not None
            mean, range = init.normalisation.mean, init.normalisation.range
        self.settings = settings
        self.mean, self.range = mean, range
        self.device = torch.device(device)
        self._mean = self._tensor(mean.astype(np.float32))
        self._range = self._tensor(range.astype(np.float32))
        sizes = [len(mean), *settings.hidden, labels]
        self.parameters: list[Tensor] = []
        for inputs, outputs in pairwise(sizes):
            bound = 1 / np.sqrt(inputs)
            for shape in ((outputs, inputs), (outputs,)):
                values = random.uniform(-bound, bound, shape).astype(np.float32)
                self.parameters.append(self._tensor(values).requires_grad_())
        if init is not None:
            parts = [part for layer in init.layers for part in (layer.matrix, layer.bias)]
            with torch.no_grad():
                for own, part in zip(self.parameters, parts, strict=True):
                    own.copy_(self._tensor(part.astype(np.float32)))
        self.target = [p.detach().clone() for p in self.parameters]
        self.adam = torch.optim.Adam(self.parameters, lr=settings.learning_rate)

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.as_tensor(values.copy()).to(self.device)

    def _forward(self, parameters: list[Tensor], rows: Tensor) -> Tensor:
        x = (rows - self._mean) / self._range
        last = len(parameters) - 2
        for i in range(0, len(parameters), 2):
            x = torch.addmm(parameters[i + 1], x, parameters[i].t())
            if i < last:
                x = torch.relu_(x)
        return x

    def values(self, rows: Rows) -> Array:
        """In units of the largest reward."""
        with torch.no_grad():
            outputs = self._forward(self.parameters, self._tensor(rows))
        return np.asarray(outputs.cpu().numpy(), dtype=np.float64)

    def update(self, batch: Batch) -> float:
        """One step of the optimiser; returns the loss before it."""
        rows, after = self._tensor(batch.before), self._tensor(batch.after)
        labels = self._tensor(batch.labels)
        rewards = self._tensor(batch.rewards) / self.settings.rewards.scale
        masks = self._tensor(batch.after_masks)
        with torch.no_grad():
            # The network chooses the best label there, and the target gives its value.
            own = self._forward(self.parameters, after).masked_fill_(~masks, -torch.inf)
            best = own.argmax(1, keepdim=True)
            worth = self._forward(self.target, after).gather(1, best).squeeze(1)
            worth.masked_fill_(self._tensor(batch.terminal), 0)
            aims = rewards + self.settings.gamma * worth
        predicted = self._forward(self.parameters, rows).gather(1, labels[:, None]).squeeze(1)
        loss = torch.nn.functional.mse_loss(predicted, aims)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            for slow, fast in zip(self.target, self.parameters, strict=True):
                slow.lerp_(fast, self.settings.tau)
        return float(loss.detach())

    def weights(self) -> MlpWeights:
        """The network to keep. Its numbers are the shortest decimals that tell these weights apart."""
        arrays = [_shortest(p.detach().cpu().numpy()) for p in self.parameters]
        layers = tuple(Layer(*arrays[i : i + 2]) for i in range(0, len(arrays), 2))
        scale = self.settings.rewards.scale
        return MlpWeights(layers, Normalisation(self.mean, self.range, 0.0, scale))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything that is needed to continue."""
        result: dict[str, NDArray[np.generic]] = {"mean": self.mean, "range": self.range}
        for i, (own, target) in enumerate(zip(self.parameters, self.target, strict=True)):
            result[f"own.{i}"] = own.detach().cpu().numpy()
            result[f"target.{i}"] = target.cpu().numpy()
            state = self.adam.state[own]
            for name in MOMENTS:
                if name in state:
                    result[f"{name}.{i}"] = state[name].cpu().numpy()
        return result

    def restore(self, arrays: dict[str, NDArray[np.generic]], updates: int, where: str) -> None:
        try:
            with torch.no_grad():
                for i, (own, target) in enumerate(zip(self.parameters, self.target, strict=True)):
                    own.copy_(self._tensor(arrays[f"own.{i}"]))
                    target.copy_(self._tensor(arrays[f"target.{i}"]))
                    if updates:
                        moments = {name: self._tensor(arrays[f"{name}.{i}"]) for name in MOMENTS}
                        self.adam.state[own] = {
                            "step": torch.tensor(float(updates), dtype=torch.float32),
                            **moments,
                        }
        except (KeyError, RuntimeError) as error:
            raise InputFormatError(
                f"weights of another network: {str(error)[:80]}", where=where
            ) from error


def _shortest(values: Floats) -> Array:
    decimals = [float(str(value)) for value in values.ravel()]
    return np.array(decimals, dtype=np.float64).reshape(values.shape)


__all__ = ["Learner"]
