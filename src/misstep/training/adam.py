"""Adam on one flat vector. Needs PyTorch.

The arithmetic is that of `torch.optim.Adam` (the tests compare), without its work for lists of tensors, which takes
longer than the arithmetic itself. The state is two vectors and a number, so it can be stored and restored.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from misstep.policies.asnet.weights import Floats
from misstep.policies.torch_extra import torch

Tensor = Any  # mypy does not look into PyTorch
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Moments(NamedTuple):
    """The state of Adam."""

    step: int
    first: Floats
    second: Floats


class Adam:
    """Steps along the gradient, after clipping its norm and adding the L2 penalty. With `shrink`, all weights are first
    multiplied by 1 - shrink instead, whatever the learning rate is."""

    def __init__(
        self,
        flat: Tensor,
        moments: Moments | None,
        *,
        learning_rate: float,
        weight_decay: float,
        clip: float,
        shrink: float = 0.0,
    ) -> None:
        self.flat = flat
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.clip = clip
        self.shrink = shrink
        if moments is None:
            self.count = 0
            self.first, self.second = torch.zeros_like(flat), torch.zeros_like(flat)
        else:
            self.count = moments.step
            self.first = torch.as_tensor(moments.first.copy()).to(flat.device)
            self.second = torch.as_tensor(moments.second.copy()).to(flat.device)

    def step(self, gradient: Tensor) -> None:
        """Changes the gradient too."""
        norm = torch.dot(gradient, gradient).sqrt_()
        gradient.mul_((self.clip / norm.add_(1e-6)).clamp_(max=1))
        if self.weight_decay:
            gradient.add_(self.flat, alpha=self.weight_decay)
        if self.shrink:
            self.flat.mul_(1 - self.shrink)
        self.count += 1
        b1, b2 = BETAS
        self.first.lerp_(gradient, 1 - b1)
        self.second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        spread = self.second.sqrt().div_(math.sqrt(1 - b2**self.count)).add_(EPSILON)
        rate = self.learning_rate / (1 - b1**self.count)
        self.flat.addcdiv_(self.first, spread, value=-rate)

    def moments(self) -> Moments:
        return Moments(
            self.count, self.first.cpu().numpy().copy(), self.second.cpu().numpy().copy()
        )


__all__ = ["Adam", "Moments"]
