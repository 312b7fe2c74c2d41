"""What a file of weights does not say about its network, and how it gets known.

A state dict names matrices. Which function stands between them, and whether a row of weights is a layer normalisation,
decides what the network computes; a guess would prove bugs of another policy. So each of these is declared by the
format (.nnet means rectified linear units), by the file (the metadata of safetensors, the data of an agent), by the
user (`--activation`, `--layer-norm`, or the interface file), or by rows of inputs with their outputs (`--check`), which
single out one reading. Rows are checked wherever they are given, also if all is declared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.networks.activation import Activation, activation_names
from misstep.policies.networks.network import Network

EPSILON = 1e-5  # of PyTorch
TOLERANCE = 1e-4  # of outputs that were computed in single precision, against the largest of them
MAX_ROWS_BYTES = 64 * 2**20
ROWS = 'rows as {"inputs": [[...], ...], "outputs": [[...], ...]}'


@dataclass(frozen=True)
class LayerNorms:
    """That rows of weights are layer normalisations, which stand before the activation of a layer or after it."""

    late: bool
    epsilon: float = EPSILON

    def __str__(self) -> str:
        return f"{'after' if self.late else 'before'}:{self.epsilon:g}"


@dataclass(frozen=True)
class Golden:
    """Inputs and what the network answered where it was trained."""

    inputs: NDArray[np.float64]
    outputs: NDArray[np.float64]
    where: str


@dataclass(frozen=True)
class Declaration:
    activation: Activation | None = None
    norms: LayerNorms | None = None
    part: str | None = None  # what the names of its tensors begin with
    golden: Golden | None = None
    layers: tuple[str, ...] | None = None  # their names in the order of evaluation


NOTHING = Declaration()


def parse_norms(text: str) -> LayerNorms:
    """From `before` or `after:1e-3`; ValueError with what was expected."""
    place, colon, number = text.partition(":")
    try:
        epsilon = float(number) if colon else EPSILON
    except ValueError:
        epsilon = math.nan
    if place not in ("before", "after") or not (0 <= epsilon < math.inf):
        raise ValueError(
            "before or after (the activation), and the epsilon if it is not 1e-5, as in before:1e-6"
        )
    return LayerNorms(place == "after", epsilon)


def load_golden(path: Path) -> Golden:
    content = read_bytes(path, MAX_ROWS_BYTES, ROWS)
    try:
        document = parse_json(content)
    except (ValueError, RecursionError):
        document = None
    inputs, outputs = (
        _matrix(document.get(key)) if isinstance(document, dict) else None
        for key in ("inputs", "outputs")
    )
    if inputs is None or outputs is None or len(inputs) != len(outputs) or not len(inputs):
        raise InputFormatError(
            "the rows to check the network by cannot be read", where=str(path), expected=ROWS
        )
    return Golden(inputs, outputs, str(path))


def _matrix(rows: object) -> NDArray[np.float64] | None:
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return matrix if matrix.ndim == 2 and np.isfinite(matrix).all() else None


def difference(network: Network, golden: Golden) -> float:
    """The largest difference between what the network gives and what it should, as a share of the largest output."""
    for what, has, needs in (
        ("inputs", golden.inputs.shape[1], network.inputs),
        ("outputs", golden.outputs.shape[1], network.outputs),
    ):
        if has != needs:
            raise InputFormatError(
                f"rows of {has} {what} for a network of {needs}", where=golden.where, expected=ROWS
            )
    found = network.evaluate(golden.inputs)
    if not np.isfinite(found).all():
        return math.inf
    scale = max(1.0, float(np.abs(golden.outputs).max()))
    return float(np.abs(found - golden.outputs).max()) / scale


def check_golden(network: Network, golden: Golden | None, where: str) -> None:
    """An error unless the network answers as the rows say."""
    if golden is None:
        return
    apart = difference(network, golden)
    if apart > TOLERANCE:
        raise InputFormatError(
            f"the network does not answer as the rows in {golden.where} say: outputs differ by {apart:.2g} of "
            "the largest",
            where=where,
            expected=f"at most {TOLERANCE:g}",
            hint="is the activation right, and are the outputs those of the last layer, before any softmax?",
        )


def undeclared_activation(where: str) -> NoReturn:
    kind = "sb3" if where.lower().endswith(".zip") else "network"
    raise UnsupportedError(
        "the file does not say which activation stands between its layers",
        where=where,
        expected=f"a declaration: one of {activation_names()}",
        hint=f"as in {kind}:--activation=tanh {Path(where).name}, or "
        '"activation": "tanh" in its interface file, or --check=ROWS.json with inputs and outputs '
        "of the network (docs/networks.md)",
    )


def undeclared_norms(names: Sequence[str], where: str) -> NoReturn:
    raise UnsupportedError(
        f"{names[0]} is a row of weights, which may be a layer normalisation; the file does not say so",
        where=where,
        expected="a declaration: before or after the activation",
        hint=f"as in network:--layer-norm=before {Path(where).name}, or --check=ROWS.json with inputs "
        "and outputs of the network (docs/networks.md)",
    )


__all__ = [
    "NOTHING",
    "Declaration",
    "Golden",
    "LayerNorms",
    "check_golden",
    "difference",
    "load_golden",
    "parse_norms",
    "undeclared_activation",
    "undeclared_norms",
]
