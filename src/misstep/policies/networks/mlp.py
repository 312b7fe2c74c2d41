"""Fully connected networks: linear layers, an activation behind each but the last, layer normalisations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import InputFormatError
from misstep.policies.networks.activation import RELU, Activation
from misstep.policies.networks.network import NativeNetwork

Array = NDArray[np.float64]
Parts = list[tuple[int, int, str]]  # numbers within a name, and what stands between them
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
class Norm:
    """A layer normalisation of the inputs (place 0), or behind that many layers."""

    place: int
    scale: Array
    shift: Array
    late: bool = False  # behind the activation of the layer
    epsilon: float = 1e-5


@dataclass(frozen=True)
class MlpWeights:
    layers: tuple[Layer, ...]
    normalisation: Normalisation | None = None
    activation: Activation = RELU  # what stands between the layers
    norms: tuple[Norm, ...] = ()

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
        activation=weights.activation.name,
        parameter=weights.activation.parameter,
        norms=[
            _core.LayerNorm(
                place=norm.place,
                late=norm.late,
                epsilon=norm.epsilon,
                scale=np.ascontiguousarray(norm.scale, dtype=np.float64),
                shift=np.ascontiguousarray(norm.shift, dtype=np.float64),
            )
            for norm in weights.norms
        ],
    )
    return NativeNetwork(core, "mlp", digest)


@dataclass(frozen=True)
class Stack:
    """What a state dict holds: linear layers, and rows of weights that may be normalisations, each with its name."""

    layers: tuple[Layer, ...]
    norms: tuple[tuple[str, Norm], ...] = ()


def from_tensors(
    tensors: Mapping[str, Array], where: str, kind: str, order: Sequence[str] | None = None
) -> Stack:
    """The layers of a state dict: `NAME.weight` and `NAME.bias`, in the given or the natural order of their names.

    What is neither a linear layer nor a row of weights is refused: it would be a different network.
    """
    prefixes = {name.rpartition(".")[0] for name in tensors}
    if len(prefixes) > 2 * MAX_LAYERS:  # each may be normalised
        raise _malformed(f"a network of {len(prefixes):,} layers and normalisations", where, kind)
    layers: dict[str, Layer] = {}
    rows: dict[str, tuple[Array, Array]] = {}
    for prefix in sorted(prefixes, key=natural) if order is None else order:
        matrix, bias = _own(tensors, prefix, where, kind)
        if matrix.ndim == 1:
            rows[prefix] = (matrix, bias)
            continue
        before = next(reversed(layers.values()), None)
        if before is not None and matrix.shape[1] != len(before.bias):
            raise InputFormatError(
                f"{prefix} takes {matrix.shape[1]} numbers, and the layer before gives {len(before.bias)}",
                where=where,
                expected=kind,
                hint="if the file holds several networks, name one by what its tensors begin with: "
                "network:--part=actor. FILE; in another order: network:--layers=NAME,NAME FILE",
            )
        layers[prefix] = Layer(matrix.astype(np.float64), bias.astype(np.float64))
    if not layers:
        raise _malformed("there is no layer in it", where, kind)
    stack = Stack(tuple(layers.values()), _placed(list(layers.items()), rows, order, where, kind))
    check_sizes(MlpWeights(stack.layers).sizes, where, kind)
    return stack


def _own(tensors: Mapping[str, Array], prefix: str, where: str, kind: str) -> tuple[Array, Array]:
    """The weights and the bias of a layer; zeros if it has no bias."""
    own = {n.rpartition(".")[2]: t for n, t in tensors.items() if n.rpartition(".")[0] == prefix}
    matrix = own.pop("weight", None)
    bias = own.pop("bias", None)
    place = prefix or "the file"
    if own:
        raise _malformed(f"{place} has {min(own)}, which no linear layer has", where, kind)
    if matrix is None or matrix.ndim not in (1, 2) or (matrix.ndim == 1 and bias is None):
        raise _malformed(f"{place} is not a linear layer", where, kind)
    if bias is None:
        bias = np.zeros(len(matrix))
    if bias.shape != (len(matrix),):
        raise _malformed(
            f"{prefix}.bias has the shape {list(bias.shape)}, and {prefix}.weight {list(matrix.shape)}",
            where,
            kind,
        )
    return matrix, bias


def _placed(
    layers: list[tuple[str, Layer]],
    rows: dict[str, tuple[Array, Array]],
    order: Sequence[str] | None,
    where: str,
    kind: str,
) -> tuple[tuple[str, Norm], ...]:
    """Behind how many layers each row of weights stands.

    The declared order tells, or in one sequence (`net.0`, `net.1`) that of the names. Otherwise `ln1` belongs to `fc1`.
    """
    placed = []
    for name, (scale, shift) in rows.items():
        if order is not None:
            before = order[: order.index(name)]
            place = sum(own in before for own, _ in layers)
        elif any(_stem(name) == _stem(own) for own, _ in layers):
            place = sum(natural(own) < natural(name) for own, _ in layers)
        else:
            same = [i for i, (own, _) in enumerate(layers) if _digits(own) == _digits(name)]
            if len(same) != 1 or not _digits(name):
                raise _malformed(f"it cannot be told behind which layer {name} stands", where, kind)
            place = same[0] + 1
        width = layers[place - 1][1].bias.size if place else layers[0][1].matrix.shape[1]
        if scale.size != width:
            raise _malformed(
                f"{name} has {scale.size} weights, and the layer before gives {width} numbers",
                where,
                kind,
            )
        placed.append((name, Norm(place, scale.astype(np.float64), shift.astype(np.float64))))
    return tuple(placed)


def _stem(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _digits(name: str) -> list[str]:
    return re.findall(r"\d+", name)


def natural(name: str) -> Parts:
    """Numbers within names count as numbers: layer 10 comes after layer 9."""
    parts = re.findall(r"\d+|\D+", name)
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part)
        for part in parts
    ]


def _malformed(what: str, where: str, kind: str) -> InputFormatError:
    return InputFormatError(what, where=where, expected=kind)


__all__ = [
    "Layer",
    "MlpWeights",
    "Norm",
    "Normalisation",
    "Parts",
    "Stack",
    "check_sizes",
    "from_tensors",
    "mlp_network",
    "natural",
]
