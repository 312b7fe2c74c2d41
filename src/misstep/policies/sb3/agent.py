"""The archive of an agent: its network, and what the readable part of `data` says about it.

`data` is JSON. Parts of it are pickled, which are never opened; beside each stands a readable description, from which
the class of the policy and the activation function can be told. `policy.pth` holds the weights.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.archives import archive_of
from misstep.policies.networks.mlp import MlpWeights, from_tensors
from misstep.policies.torch_archive import Tensors, read_state_dict

KIND = "an agent saved by Stable-Baselines3 (.zip)"
MAX_BYTES = 512 * 2**20
ACTIVATIONS = ("tanh", "relu")
# Of the tensors that belong to the actor, in the order of evaluation.
ACTOR = ("mlp_extractor.shared_net.", "mlp_extractor.policy_net.", "action_net.")
CRITIC = ("mlp_extractor.value_net.", "value_net.")
Q_NET, Q_TARGET = "q_net.q_net.", "q_net_target."


@dataclass(frozen=True)
class Agent:
    algorithm: str
    """`dqn`, `maskable` or `actor-critic` (PPO, A2C)."""
    weights: MlpWeights
    activation: str
    digest: str

    @property
    def masked(self) -> bool:
        """Whether the agent itself takes only actions that apply."""
        return self.algorithm == "maskable"


def read_agent(path: Path, activation: str | None = None) -> Agent:
    """Reads an agent. The activation is the given one, or what the file says, or the default of the algorithm."""
    where = str(path)
    content = read_bytes(path, MAX_BYTES, KIND)
    data, stored = _members(content, where)
    tensors = read_state_dict(stored, f"{where}, policy.pth", KIND, MAX_BYTES)
    about = _about(data, where)
    if any(name.startswith(Q_NET) for name in tensors):
        algorithm, default = "dqn", "relu"
        layers = _q_net(tensors, where)
    else:
        algorithm, default = ("maskable" if _is_maskable(about) else "actor-critic"), "tanh"
        layers = _actor(tensors, where)
    chosen = activation or _activation(about, where) or default
    weights = from_tensors(layers, where, KIND)
    weights = MlpWeights(weights.layers, tanh=chosen == "tanh")
    return Agent(algorithm, weights, chosen, hashlib.sha256(content).hexdigest())


def _members(content: bytes, where: str) -> tuple[bytes, bytes]:
    with archive_of(content, where, "saved agent", KIND, MAX_BYTES) as archive:
        missing = [name for name in ("data", "policy.pth") if name not in archive.namelist()]
        if missing:
            _refuse(f"the archive has no file {missing[0]}", where)
        return archive.read("data"), archive.read("policy.pth")


def _about(data: bytes, where: str) -> dict[str, Any]:
    try:
        about = parse_json(data)
    except ValueError:
        about = None
    if not isinstance(about, dict):
        _refuse("the file data in the archive is no JSON object", where)
    return about


def _is_maskable(about: dict[str, Any]) -> bool:
    described = about.get("policy_class")
    module = described.get("__module__") if isinstance(described, dict) else None
    return isinstance(module, str) and "maskable" in module


def _activation(about: dict[str, Any], where: str) -> str | None:
    """From the readable description beside the pickled part, such as `<class '...activation.ReLU'>`."""
    described = about.get("policy_kwargs")
    text = described.get("activation_fn") if isinstance(described, dict) else None
    if not isinstance(text, str):
        return None
    name = text.strip("<>' ").rpartition(".")[2].lower()
    if name not in ACTIVATIONS:
        raise UnsupportedError(
            f"the network uses the activation {name[:40]}", where=where, expected="tanh or relu"
        )
    return name


def _q_net(tensors: Tensors, where: str) -> Tensors:
    for name in tensors:
        if not name.startswith((Q_NET, Q_TARGET)):
            _other(name, where)
    return {name: tensor for name, tensor in tensors.items() if name.startswith(Q_NET)}


def _actor(tensors: Tensors, where: str) -> Tensors:
    layers: Tensors = {}
    for name, tensor in tensors.items():
        part = next((i for i, prefix in enumerate(ACTOR) if name.startswith(prefix)), None)
        if part is not None:
            layers[f"{part}.{name}"] = tensor  # in natural order, this is the order of evaluation
        elif name == "log_std":
            raise UnsupportedError(
                "the agent has continuous actions", where=where, expected="discrete actions"
            )
        elif not name.startswith(CRITIC):
            _other(name, where)
    if not any(ACTOR[-1] in name for name in layers):
        _refuse("the weights have no action_net", where)
    return layers


def _other(name: str, where: str) -> NoReturn:
    raise UnsupportedError(
        f"the agent has a part {name[:60]}, which is no plain network",
        where=where,
        expected="an MlpPolicy of PPO, MaskablePPO or DQN",
    )


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


__all__ = ["ACTIVATIONS", "Agent", "read_agent"]
