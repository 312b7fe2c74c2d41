"""Algorithms of Stable-Baselines3 and sb3-contrib with discrete actions: where each keeps the network that decides.

Most of them can be told apart by the names of their tensors, the rest by the module of the policy's class. Agents that
are not listed are refused: those with continuous actions, with a memory, or from packages that we do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from misstep.decoding import whole_number
from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.networks.activation import RELU, TANH, Activation
from misstep.policies.networks.mlp import Array
from misstep.policies.networks.parts import ACTOR, CRITIC, Q_NET, Q_TARGET, actor

QUANTILES, QUANTILE_TARGET = "quantile_net.quantile_net.", "quantile_net_target."
Tensors = Mapping[str, Array]


@dataclass(frozen=True)
class Family:
    name: str
    activation: Activation  # by default
    own: tuple[str, ...]  # what the names of its tensors begin with
    unused: tuple[str, ...]  # tensors that do not decide


DQN = Family("dqn", RELU, (Q_NET,), (Q_TARGET,))
QRDQN = Family("qrdqn", RELU, (QUANTILES,), (QUANTILE_TARGET,))
ARS = Family("ars", RELU, ("action_net.",), ())
ACTOR_CRITIC = Family("actor-critic", TANH, ACTOR, CRITIC)
MASKABLE = Family("maskable", TANH, ACTOR, CRITIC)


def family_of(tensors: Tensors, module: str, where: str) -> Family:
    """The family of an agent; `module` is that of its policy's class, empty if unknown."""
    if "log_std" in tensors or any(name.startswith("actor.mu.") for name in tensors):
        raise UnsupportedError(
            "the agent has continuous actions (as those of SAC, TD3 and DDPG have)",
            where=where,
            expected="discrete actions: PPO, MaskablePPO, A2C, TRPO, DQN, QR-DQN or ARS",
        )
    if any(name.startswith(Q_NET) for name in tensors):
        family = DQN
    elif any(name.startswith(QUANTILES) for name in tensors):
        family = QRDQN
    elif module.startswith("sb3_contrib.ars."):
        family = ARS
    else:
        family = MASKABLE if "maskable" in module else ACTOR_CRITIC
    for name in tensors:
        if not name.startswith((*family.own, *family.unused)):
            _other(name, where)
    return family


def layers_of(
    tensors: Tensors, family: Family, about: Mapping[str, Any], where: str
) -> dict[str, Array]:
    """The layers of the network that decides."""
    if family.own is ACTOR:
        layers = actor(tensors)
        if not any(ACTOR[-1] in name for name in layers):
            raise InputFormatError(
                "the weights have no action_net", where=where, expected="an agent with an actor"
            )
        return layers
    layers = {n: tensor for n, tensor in tensors.items() if n.startswith(family.own)}
    return _mean_of_quantiles(layers, about, where) if family is QRDQN else layers


def _mean_of_quantiles(
    layers: dict[str, Array], about: Mapping[str, Any], where: str
) -> dict[str, Array]:
    """Layers with one output for each action. The mean over quantiles is linear, so the last layer can include it."""
    count = about.get("n_quantiles")
    numbers = (whole_number(name.split(".")[2]) for name in layers)
    last = max((number for number in numbers if number is not None), default=0)
    weight, bias = (layers.get(f"{QUANTILES}{last}.{kind}") for kind in ("weight", "bias"))
    if (
        type(count) is not int
        or count < 1
        or weight is None
        or weight.ndim != 2
        or bias is None
        or bias.shape != weight.shape[:1]
        or len(weight) % count
    ):
        raise InputFormatError(
            f"the last layer does not fit {count!r:.20} quantiles",
            where=where,
            expected="as many outputs for each action",
        )
    matrix: Array = weight.reshape(count, -1, weight.shape[1]).mean(axis=0)
    offsets: Array = np.asarray(bias).reshape(count, -1).mean(axis=0)
    return {
        **layers,
        f"{QUANTILES}{last}.weight": matrix,
        f"{QUANTILES}{last}.bias": offsets,
    }


def _other(name: str, where: str) -> NoReturn:
    what = "which is a memory" if "lstm" in name else "which is not a plain network"
    raise UnsupportedError(
        f"the agent has a part {name[:60]}, {what}",
        where=where,
        expected="an MlpPolicy of PPO, MaskablePPO, A2C, TRPO, DQN, QR-DQN or ARS",
    )


__all__ = ["Family", "family_of", "layers_of"]
