"""From the layers of a state dict to a network: the declared reading, or the one that golden rows single out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from misstep.errors import InputFormatError
from misstep.policies.networks.activation import NAMES, Activation
from misstep.policies.networks.declaration import (
    TOLERANCE,
    Declaration,
    Golden,
    LayerNorms,
    check_golden,
    difference,
    undeclared_activation,
    undeclared_norms,
)
from misstep.policies.networks.mlp import MlpWeights, Stack, mlp_network


def resolve(stack: Stack, declared: Declaration, where: str) -> MlpWeights:
    """The network of these layers; an error if what is declared leaves it open, or if it fails the rows."""
    if declared.norms is not None and not stack.norms:
        raise InputFormatError(
            "a layer normalisation is declared, and the network has none",
            where=where,
            expected="rows of weights among the layers",
        )
    needs_activation = len(stack.layers) > 1
    if declared.golden is None:
        if stack.norms and declared.norms is None:
            undeclared_norms([name for name, _ in stack.norms], where)
        if needs_activation and declared.activation is None:
            undeclared_activation(where)
    readings = list(_readings(stack, declared, needs_activation))
    if len(readings) > 1:
        assert declared.golden is not None  # otherwise all was declared
        return _singled_out(readings, declared.golden, where)
    check_golden(mlp_network(readings[0]), declared.golden, where)
    return readings[0]


def _readings(stack: Stack, declared: Declaration, needs_activation: bool) -> Iterator[MlpWeights]:
    """What the layers may mean."""
    activations = [declared.activation or Activation("relu")]
    if needs_activation and declared.activation is None:
        activations = [Activation(name, default or 0.0) for name, default in NAMES.items()]
    norms = [declared.norms or LayerNorms(late=False)]
    if stack.norms and declared.norms is None:
        norms = [LayerNorms(late) for late in (False, True)]
    for activation, norm in product(activations, norms):
        placed = tuple(replace(own, late=norm.late, epsilon=norm.epsilon) for _, own in stack.norms)
        yield MlpWeights(stack.layers, activation=activation, norms=placed)


def _singled_out(readings: list[MlpWeights], golden: Golden, where: str) -> MlpWeights:
    apart = {i: difference(mlp_network(weights), golden) for i, weights in enumerate(readings)}
    fitting = [i for i, own in apart.items() if own <= TOLERANCE]
    if len(fitting) == 1:
        return readings[fitting[0]]
    if fitting:
        told = " or ".join(_words(readings[i]) for i in fitting[:3])
        raise InputFormatError(
            f"the rows in {golden.where} fit several readings of the network: {told}",
            where=where,
            expected="rows that fit one",
            hint="add rows, or declare it: --activation=NAME, --layer-norm=before|after",
        )
    best = min(apart, key=lambda i: apart[i])
    raise InputFormatError(
        f"the network does not answer as the rows in {golden.where} say, whatever the activation: with "
        f"{_words(readings[best])}, the closest, outputs differ by {apart[best]:.2g} of the largest",
        where=where,
        expected=f"at most {TOLERANCE:g}",
        hint="are the outputs those of the last layer, before any softmax? a slope is declared as in "
        "--activation=leaky-relu:0.2",
    )


def _words(weights: MlpWeights) -> str:
    norms = {norm.late for norm in weights.norms}
    place = "" if not norms else f" with normalisation {'after' if True in norms else 'before'} it"
    return f"{weights.activation}{place}"


__all__ = ["resolve"]
