"""Reads the archive of an agent: its network, and the readable part of `data`.

`data` is JSON. Parts of it are pickled and are never opened. Beside each of them there is a readable description, which
names the class of the policy, the spaces and the activation function. `policy.pth` holds the weights.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.archives import archive_of
from misstep.policies.networks.activation import Activation, of_class
from misstep.policies.networks.declaration import NOTHING, Declaration
from misstep.policies.networks.mlp import MlpWeights, from_tensors
from misstep.policies.networks.readings import resolve
from misstep.policies.sb3.families import Family, family_of, layers_of
from misstep.policies.torch_archive import read_state_dict

KIND = "an agent saved by Stable-Baselines3 (.zip)"
MAX_BYTES = 512 * 2**20
MAX_DATA_BYTES = 16 * 2**20  # of JSON, which takes many times as much memory
# The only features extractor that leaves a vector as it is; its subclasses need not.
FLATTEN = "<class 'stable_baselines3.common.torch_layers.FlattenExtractor'>"
About = dict[str, Any]


@dataclass(frozen=True)
class Agent:
    algorithm: str
    """`dqn`, `qrdqn`, `ars`, `maskable` or `actor-critic` (PPO, A2C, TRPO)."""
    weights: MlpWeights
    activation: Activation
    digest: str

    @property
    def masked(self) -> bool:
        """Whether the agent itself takes only actions that apply."""
        return self.algorithm == "maskable"


def read_agent(path: Path, declared: Declaration = NOTHING) -> Agent:
    """Reads an agent. The activation is the declared one, else the one in the file, else the algorithm's default."""
    where = str(path)
    content = read_bytes(path, MAX_BYTES, KIND)
    data, stored = _members(content, where)
    tensors = read_state_dict(stored, f"{where}, policy.pth", KIND, MAX_BYTES)
    about = _about(data, where)
    module = _module(about)
    family = family_of(tensors, module, where)
    _check_spaces(about, where)
    _check_policy(about, module, declared, where)
    layers = layers_of(tensors, family, about, where)
    activation = declared.activation or _activation(about, family, module, where)
    weights = resolve(
        from_tensors(layers, where, KIND), replace(declared, activation=activation), where
    )
    digest = hashlib.sha256(content).hexdigest()
    return Agent(family.name, weights, weights.activation, digest)


def _members(content: bytes, where: str) -> tuple[bytes, bytes]:
    with archive_of(content, where, "saved agent", KIND, MAX_BYTES) as archive:
        missing = [name for name in ("data", "policy.pth") if name not in archive.namelist()]
        if missing:
            _refuse(f"the archive has no file {missing[0]}", where)
        if archive.getinfo("data").file_size > MAX_DATA_BYTES:
            _refuse(f"the file data in the archive has more than {MAX_DATA_BYTES:,} bytes", where)
        return archive.read("data"), archive.read("policy.pth")


def _about(data: bytes, where: str) -> About:
    try:
        about = parse_json(data)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        _refuse("the file data in the archive is not a JSON object", where)
    return about


def _module(about: About) -> str:
    """The module of the policy's class; empty if the file does not say."""
    described = about.get("policy_class")
    module = described.get("__module__") if isinstance(described, dict) else None
    return module if isinstance(module, str) else ""


def _check_spaces(about: About, where: str) -> None:
    """Refuse spaces in which the numbers of a state or of the outputs would mean something else."""
    for key, known in (("observation_space", "Box"), ("action_space", "Discrete")):
        described = about.get(key)
        text = described.get(":type:") if isinstance(described, dict) else None
        if not isinstance(text, str):
            continue
        name = text.strip("<>' ").rpartition(".")[2]
        if name != known:
            raise UnsupportedError(
                f"the agent has the {key.replace('_', ' ')} {name[:40]}",
                where=where,
                expected=f"{known}: a vector of numbers in, the number of an action out",
                hint="train it in the environments of misstep (docs/policies/sb3.md)",
            )
    if _divides(about):
        raise UnsupportedError(
            "the agent sees images, which are divided by 255 before the network sees them",
            where=where,
            expected="Box: a vector of numbers in, the number of an action out",
        )


def _divides(about: About) -> bool:
    """Whether Stable-Baselines3 takes states for images, as it does with three dimensions of bytes from 0 to 255."""
    kwargs = about.get("policy_kwargs")
    if isinstance(kwargs, dict) and kwargs.get("normalize_images") is False:
        return False
    match about.get("observation_space"):
        case {"dtype": "uint8", "_shape": [_, _, _], **others}:
            found = (re.findall(r"\d+", str(others.get(name, ""))) for name in ("low", "high"))
            return all(set(own) <= {bound} for own, bound in zip(found, ("0", "255"), strict=True))
    return False


def _check_policy(about: About, module: str, declared: Declaration, where: str) -> None:
    """Refuse policies with custom code, unless the user's rows show that we compute the same."""
    own = module and not module.startswith(("stable_baselines3.", "sb3_contrib."))
    kwargs = about.get("policy_kwargs")
    extractor = kwargs.get("features_extractor_class") if isinstance(kwargs, dict) else None
    foreign = isinstance(extractor, str) and extractor != FLATTEN
    if (own or foreign) and declared.golden is None:
        what = f"the features extractor {extractor!s:.80}" if foreign else f"of {module[:60]}"
        raise UnsupportedError(
            f"the agent has a policy {what}, whose code is not in the file",
            where=where,
            expected="an MlpPolicy of Stable-Baselines3 or sb3-contrib",
            hint="if it computes the same, show it by rows: sb3:--check=ROWS.json FILE (docs/networks.md)",
        )


def _activation(about: About, family: Family, module: str, where: str) -> Activation | None:
    """The activation that the readable description names, such as `<class '...activation.ReLU'>`.

    None if the file does not say; then the default of the policy's class applies, if the file names the class.
    """
    described = about.get("policy_kwargs")
    text = described.get("activation_fn") if isinstance(described, dict) else None
    if text is None:
        return family.activation if module else None
    found = of_class(text) if isinstance(text, str) else None
    if found is None:
        raise UnsupportedError(
            f"the network uses the activation {text!s:.80}, which is not known",
            where=where,
            expected="ReLU, Tanh, Sigmoid, ELU, GELU, LeakyReLU, SiLU or Identity of PyTorch",
            hint="if it is one of them under another name: sb3:--activation=NAME FILE",
        )
    return found


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


__all__ = ["Agent", "read_agent"]
