"""The weights of an ASNet and their initial values: a matrix and a bias for each module."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UsageError
from misstep.policies.asnet.shape import Shape, modules

Floats = NDArray[np.float32]

# The sizes that the authors of ASNets use; others are possible.
HIDDEN = 16
LAYERS = 2
MAX_HIDDEN = 1024
MAX_LAYERS = 64
INITIAL = ("xavier", "normal")


@dataclass(frozen=True)
class Weights:
    """A network without a task. `tensors` maps `<module>.weight` and `<module>.bias` to arrays."""

    shape: Shape
    hidden: int
    layers: int
    tensors: dict[str, Floats]
    training: dict[str, Any] = field(default_factory=dict)
    """Free-form notes on where the weights come from."""

    @property
    def parameter_count(self) -> int:
        return sum(tensor.size for tensor in self.tensors.values())

    def flat(self) -> Floats:
        """All numbers in the order of `modules`, each matrix followed by its bias."""
        parts = [
            self.tensors[f"{module.name}.{kind}"].ravel()
            for module in modules(self.shape, self.hidden, self.layers)
            for kind in ("weight", "bias")
        ]
        return np.ascontiguousarray(np.concatenate(parts), dtype=np.float32)


def tensor_shapes(shape: Shape, hidden: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Names and sizes of all tensors of a network."""
    sizes: dict[str, tuple[int, ...]] = {}
    for module in modules(shape, hidden, layers):
        sizes[f"{module.name}.weight"] = (module.outputs, module.inputs)
        sizes[f"{module.name}.bias"] = (module.outputs,)
    return sizes


def check_sizes(hidden: int, layers: int) -> None:
    if not 1 <= hidden <= MAX_HIDDEN:
        raise UsageError(f"the hidden size is {hidden}", expected=f"from 1 to {MAX_HIDDEN}")
    if not 1 <= layers <= MAX_LAYERS:
        raise UsageError(f"the number of layers is {layers}", expected=f"from 1 to {MAX_LAYERS}")


def random_weights(
    shape: Shape,
    *,
    seed: int = 0,
    hidden: int = HIDDEN,
    layers: int = LAYERS,
    bias: float = 0.0,
    initial: str = "xavier",
) -> Weights:
    """Xavier-uniform matrices and zero biases; a function of the arguments alone.

    Each tensor draws from a stream keyed by its name, so that no tensor depends on the others.
    With `bias`, biases are uniform in [-bias, bias] instead, so that tests do not rely on zeros. With
    `initial="normal"`, all numbers, also the biases, are drawn from the normal distribution with variance 1.
    """
    check_sizes(hidden, layers)
    tensors: dict[str, Floats] = {}
    for name, size in tensor_shapes(shape, hidden, layers).items():
        key = hashlib.sha256(f"{seed} {name}".encode()).digest()
        random = np.random.Generator(np.random.PCG64(int.from_bytes(key[:16], "little")))
        bound = math.sqrt(6.0 / sum(size)) if len(size) == 2 else bias
        # From raw integers, so that the mapping to floats does not depend on the version of numpy.
        count = math.prod(size)
        if initial == "normal":
            bits = random.bit_generator.random_raw(2 * count) >> np.uint64(11)
            one, two = ((bits.astype(np.float64) + 0.5) / 2**53).reshape(2, count)
            own = np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * two)  # Box and Muller
        else:
            bits = random.bit_generator.random_raw(count) >> np.uint64(40)
            own = (bits.astype(np.float64) / 2**24 * 2 - 1) * bound
        tensors[name] = own.astype(np.float32).reshape(size)
    return Weights(shape, hidden, layers, tensors, {"origin": "random", "seed": seed})


__all__ = [
    "HIDDEN",
    "INITIAL",
    "LAYERS",
    "Weights",
    "check_sizes",
    "random_weights",
    "tensor_shapes",
]
