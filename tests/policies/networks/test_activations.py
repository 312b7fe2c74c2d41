"""Activations and layer norms: native and plain evaluation agree bit for bit, and agree with PyTorch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from misstep._core import available_kernels
from misstep.policies.networks import margins
from misstep.policies.networks.activation import (
    NAMES,
    Activation,
    activation_names,
    of_class,
    parse_activation,
)
from misstep.policies.networks.mlp import MlpWeights, Norm, mlp_network
from support.networks import naive_mlp, random_mlp

SIZES = [6, 20, 17, 4]
ALL = [Activation(name, default or 0.0) for name, default in NAMES.items()]
ALL += [Activation("leaky-relu", 0.2), Activation("elu", 0.5)]


def norms(sizes: list[int], late: bool, seed: int = 3) -> tuple[Norm, ...]:
    """Of all hidden layers."""
    random = np.random.default_rng(seed)
    return tuple(
        Norm(place, random.normal(size=n), random.normal(size=n), late, 1e-5)
        for place, n in enumerate(sizes[1:-1], start=1)
    )


@pytest.mark.parametrize("activation", ALL, ids=str)
@pytest.mark.parametrize("kernels", available_kernels())
def test_against_naive(activation: Activation, kernels: str) -> None:
    weights = replace(random_mlp(SIZES), activation=activation)
    for count in (0, 1, 7, 65):
        rows = np.random.default_rng(count).normal(size=(count, SIZES[0])) * 3
        found = mlp_network(weights, kernels=kernels).evaluate(rows)
        np.testing.assert_array_equal(found, naive_mlp(weights, rows))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("activation", [ALL[0], ALL[1]], ids=str)
def test_layer_norms_against_naive(activation: Activation, late: bool) -> None:
    rows = np.random.default_rng(1).normal(size=(70, SIZES[0])) * 3
    ends = (
        Norm(0, np.ones(SIZES[0]), np.zeros(SIZES[0])),
        Norm(len(SIZES) - 1, np.ones(SIZES[-1]), np.ones(SIZES[-1])),
    )
    for own in (norms(SIZES, late), (*norms(SIZES, late), *ends)):
        weights = replace(random_mlp(SIZES, normalised=True), activation=activation, norms=own)
        np.testing.assert_array_equal(mlp_network(weights).evaluate(rows), naive_mlp(weights, rows))


def test_where_a_norm_stands_changes_the_network() -> None:
    rows = np.random.default_rng(1).normal(size=(5, SIZES[0]))
    early, late = (
        mlp_network(replace(random_mlp(SIZES), norms=norms(SIZES, late))).evaluate(rows)
        for late in (False, True)
    )
    assert not np.allclose(early, late)


def test_undefined_numbers_stay_undefined() -> None:
    for activation in ALL:
        weights = replace(random_mlp([1, 3, 2]), activation=activation)
        assert np.isnan(mlp_network(weights).evaluate(np.array([[np.nan]]))).all(), activation


@pytest.mark.parametrize(
    "wrong",
    [
        Norm(5, np.ones(4), np.ones(4)),
        Norm(-1, np.ones(4), np.ones(4)),
        Norm(1, np.ones(3), np.ones(20)),
        Norm(1, np.ones(20), np.ones(20), epsilon=-1.0),
        Norm(1, np.ones(20), np.ones(20), epsilon=float("nan")),
    ],
)
def test_norms_that_do_not_fit(wrong: Norm) -> None:
    with pytest.raises(ValueError, match="layer normalisation"):
        mlp_network(replace(random_mlp(SIZES), norms=(wrong,)))


def test_names() -> None:
    assert parse_activation("leaky-relu:0.2") == Activation("leaky-relu", 0.2)
    assert parse_activation("Leaky_ReLU") == Activation("leaky-relu", 0.01)
    assert str(parse_activation("elu")) == "elu:1"
    assert [str(parse_activation(name)) for name in activation_names().split(", ")]
    for wrong, told in (
        ("mish", "one of relu"),
        ("tanh:2", "tanh without a number"),
        ("elu:x", "elu:NUMBER"),
        ("elu:nan", "elu:NUMBER"),
        ("", "one of relu"),
    ):
        with pytest.raises(ValueError, match=told):
            parse_activation(wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<class 'torch.nn.modules.activation.Tanh'>", Activation("tanh")),
        ("<class 'torch.nn.modules.activation.ELU'>", Activation("elu", 1.0)),
        ("<class 'torch.nn.modules.activation.Mish'>", None),
        ("functools.partial(<class 'torch.nn.modules.activation.LeakyReLU'>, 0.2)", ALL[-2]),
        (
            "functools.partial(<class 'torch.nn.modules.activation.LeakyReLU'>, negative_slope=0.2)",
            ALL[-2],
        ),
        (
            "functools.partial(<class 'torch.nn.modules.activation.GELU'>, approximate='tanh')",
            Activation("gelu-tanh"),
        ),
        ("functools.partial(<class 'torch.nn.modules.activation.ReLU'>, inplace=True)", None),
        ("functools.partial(<class 'torch.nn.modules.activation.ELU'>, beta=2)", None),
        ("<function f at 0x7f>", None),
        ("<class '" + "a" * 1_000_000, None),
        ("functools.partial(<class '" + "a." * 1_000_000, None),
        ("tanh", None),
    ],
)
def test_what_classes_print(text: str, expected: Activation | None) -> None:
    assert of_class(text) == expected


def module(torch: Any, weights: MlpWeights) -> Any:
    """The same network in PyTorch, in double precision."""
    nn, p = torch.nn, weights.activation.parameter
    made = {
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "sigmoid": nn.Sigmoid,
        "elu": lambda: nn.ELU(p),
        "gelu": nn.GELU,
        "gelu-tanh": lambda: nn.GELU(approximate="tanh"),
        "leaky-relu": lambda: nn.LeakyReLU(p),
        "silu": nn.SiLU,
        "identity": nn.Identity,
    }[weights.activation.name]
    parts: list[Any] = []
    for place, (a, b) in enumerate(pairwise(weights.sizes), start=1):
        layer = nn.Linear(a, b).double()
        layer.weight.data = torch.from_numpy(weights.layers[place - 1].matrix)
        layer.bias.data = torch.from_numpy(weights.layers[place - 1].bias)
        behind = [] if place == len(weights.layers) else [made()]
        for own in weights.norms:
            if own.place == place:
                norm = nn.LayerNorm(b, eps=own.epsilon).double()
                norm.weight.data = torch.from_numpy(own.scale)
                norm.bias.data = torch.from_numpy(own.shift)
                behind.insert(len(behind) if own.late else 0, norm)
        parts += [layer, *behind]
    return nn.Sequential(*parts)


@pytest.mark.parametrize("activation", ALL, ids=str)
@pytest.mark.parametrize("place", ["none", "before", "after"])
def test_against_pytorch(activation: Activation, place: str) -> None:
    torch = pytest.importorskip("torch")
    sizes = [6, 32, 32, 5]
    own = () if place == "none" else norms(sizes, place == "after")
    weights = replace(random_mlp(sizes), activation=activation, norms=own)
    rows = np.random.default_rng(2).normal(size=(10_000, 6)) * 2
    with torch.inference_mode():
        expected = module(torch, weights)(torch.from_numpy(rows)).numpy()
    found = mlp_network(weights).evaluate(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    clear = margins(expected, np.ones(expected.shape, np.bool_)) > 1e-6
    assert clear.sum() > 9_900
    assert (found.argmax(1) == expected.argmax(1))[clear].all()
