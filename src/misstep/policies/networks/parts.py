"""Which tensors of a checkpoint make up the policy.

Checkpoints hold an actor beside critics, target networks and the state of the optimiser. What the user names (`part`)
is taken; else the policy under the names that Stable-Baselines3 gives it; else all
tensors, which have to be one network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from misstep.errors import InputFormatError
from misstep.policies.networks.mlp import Array
from misstep.policies.torch_archive import MAX_DEPTH

# What a dictionary around a state dict is usually called, the most telling first.
WRAPPERS = (
    *("state_dict", "model_state_dict", "policy_state_dict", "actor_state_dict"),
    *("policy", "actor", "model", "net", "network", "q_network", "weights"),
)
# Of the tensors of Stable-Baselines3 that belong to the actor, in the order of evaluation.
ACTOR = ("mlp_extractor.shared_net.", "mlp_extractor.policy_net.", "action_net.")
CRITIC = ("mlp_extractor.value_net.", "value_net.")
Q_NET, Q_TARGET = "q_net.q_net.", "q_net_target."


def unwrapped(stored: Any) -> Any:
    """The dictionary of weights in a checkpoint that has other entries as well."""
    for _ in range(MAX_DEPTH):  # a dictionary may hold itself
        if not isinstance(stored, dict):
            return stored
        inner = (stored.get(key) for key in WRAPPERS)
        wrapped = next((own for own in inner if isinstance(own, dict) and own), None)
        if wrapped is None:
            break
        stored = wrapped
    return {key: value for key, value in stored.items() if "optim" not in str(key)}


def chosen(tensors: Mapping[str, Array], part: str | None, where: str) -> dict[str, Array]:
    """The tensors of the part, by names that are in the order of evaluation where we know it."""
    if part is not None:
        found = {name: tensor for name, tensor in tensors.items() if name.startswith(part)}
        if not found:
            raise InputFormatError(
                f"no tensor begins with {part!r:.60}",
                where=where,
                expected="the beginning of names of tensors",
                hint="there are " + beginnings(tensors),
            )
        return found
    if any(name.startswith(Q_NET) for name in tensors):
        return {name: tensor for name, tensor in tensors.items() if name.startswith(Q_NET)}
    if any(name.startswith(ACTOR[-1]) for name in tensors):
        return actor(tensors)
    return dict(tensors)


def actor(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The actor of an actor-critic agent."""
    layers: dict[str, Array] = {}
    for name, tensor in tensors.items():
        place = next((i for i, prefix in enumerate(ACTOR) if name.startswith(prefix)), None)
        if place is not None:
            layers[f"{place}.{name}"] = tensor  # in natural order, this is the order of evaluation
    return layers


def beginnings(tensors: Mapping[str, Array]) -> str:
    """What names of tensors begin with, to be told to a user."""
    first = dict.fromkeys(f"{name.partition('.')[0]}." for name in tensors)
    return ", ".join(list(first)[:8])[:200]


__all__ = ["ACTOR", "CRITIC", "Q_NET", "Q_TARGET", "actor", "beginnings", "chosen", "unwrapped"]
