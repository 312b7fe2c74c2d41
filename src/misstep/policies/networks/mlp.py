"""Fully connected networks with rectified linear units, or hyperbolic tangents, between their layers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import InputFormatError
from misstep.policies.networks.network import NativeNetwork

Array = NDArray[np.float64]
MAX_WIDTH = 65_536
MAX_LAYERS = 256
MAX_WEIGHTS = 2**27
EMPTY = np.empty(0)


@dataclass(frozen=True)
class Normalisation:
    """Inputs become (x - mean) / range, outputs y * output_range + output_mean. Nothing is clipped."""

    mean: Array
    range: Array
    output_mean: float = 0.0
    output_range: float = 1.0


@dataclass(frozen=True)
class Layer:
    matrix: Array  # a row for each output
    bias: Array


@dataclass(frozen=True)
class MlpWeights:
    layers: tuple[Layer, ...]
    normalisation: Normalisation | None = None
    tanh: bool = False  # what stands between the layers; otherwise rectified linear units

    @property
    def sizes(self) -> list[int]:
        """From the inputs to the outputs."""
        return [self.layers[0].matrix.shape[1], *(len(layer.bias) for layer in self.layers)]


def check_sizes(sizes: Sequence[int], where: str, kind: str) -> None:
    """Refuse a network that cannot be meant."""
    weights = sum((a + 1) * b for a, b in pairwise(sizes))
    if len(sizes) - 1 > MAX_LAYERS or max(sizes) > MAX_WIDTH or weights > MAX_WEIGHTS:
        raise InputFormatError(
            f"a network of {len(sizes) - 1} layers, up to {max(sizes)} wide, {weights} weights",
            where=where,
            expected=f"{kind} of at most {MAX_WEIGHTS} weights",
        )
    if min(sizes) < 1:
        raise InputFormatError("a layer is empty", where=where, expected=kind)


def mlp_network(weights: MlpWeights, *, digest: str = "", kernels: str = "") -> NativeNetwork:
    """The native network. `kernels` chooses between ways to the same result."""
    parts = [part.ravel() for layer in weights.layers for part in (layer.matrix, layer.bias)]
    normalisation = weights.normalisation or Normalisation(EMPTY, EMPTY)
    core = _core.Mlp(
        weights.sizes,
        np.ascontiguousarray(np.concatenate(parts), dtype=np.float64),
        mean=normalisation.mean,
        range=normalisation.range,
        output_mean=normalisation.output_mean,
        output_range=normalisation.output_range,
        kernels=kernels,
        tanh=weights.tanh,
    )
    return NativeNetwork(core, "mlp", digest)


def from_tensors(tensors: Mapping[str, Array], where: str, kind: str) -> MlpWeights:
    """The layers of a state dict: `NAME.weight` and `NAME.bias`, in the natural order of their names.

    A state dict does not say which functions stand between the layers; rectified linear units are taken
    for granted. Everything that is not a linear layer is refused: it would be a different network.
    """
    prefixes = {name.rpartition(".")[0] for name in tensors}
    layers: list[Layer] = []
    for prefix in sorted(prefixes, key=_natural):
        own = {
            n.rpartition(".")[2]: t for n, t in tensors.items() if n.rpartition(".")[0] == prefix
        }
        matrix = own.pop("weight", None)
        bias = own.pop("bias", None)
        place = prefix or "the file"
        if own:
            raise _malformed(f"{place} has {min(own)}, which no linear layer has", where, kind)
        if matrix is None or matrix.ndim != 2:
            raise _malformed(f"{place} is no linear layer", where, kind)
        if bias is None:
            bias = np.zeros(len(matrix))
        if bias.shape != (len(matrix),):
            raise _malformed(
                f"{prefix}.bias has the shape {list(bias.shape)}, and {prefix}.weight "
                f"{list(matrix.shape)}",
                where,
                kind,
            )
        if layers and matrix.shape[1] != len(layers[-1].bias):
            raise _malformed(
                f"{prefix} takes {matrix.shape[1]} numbers, and the layer before gives "
                f"{len(layers[-1].bias)}",
                where,
                kind,
            )
        layers.append(Layer(matrix.astype(np.float64), bias.astype(np.float64)))
    if not layers:
        raise _malformed("there is no layer in it", where, kind)
    weights = MlpWeights(tuple(layers))
    check_sizes(weights.sizes, where, kind)
    return weights


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Numbers within names count as numbers: layer 10 comes after layer 9."""
    parts = re.findall(r"\d+|\D+", name)
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part)
        for part in parts
    ]


def _malformed(what: str, where: str, kind: str) -> InputFormatError:
    return InputFormatError(what, where=where, expected=kind)


__all__ = ["Layer", "MlpWeights", "Normalisation", "check_sizes", "from_tensors", "mlp_network"]
