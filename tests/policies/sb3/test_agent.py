"""Archives of agents: their networks, what else they say, and bad ones in one line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.sb3 import agent as agents
from misstep.policies.sb3 import read_agent
from support.agents import actor, archive, hostile, state_dict

MASKABLE = {"policy_class": {"__module__": "sb3_contrib.common.maskable.policies"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.zip"


def test_an_actor_among_critics(file: Path) -> None:
    tensors = actor([3, 5, 4, 2])
    critic = {
        "mlp_extractor.value_net.0.weight": np.ones((7, 3), np.float32),
        "mlp_extractor.value_net.0.bias": np.ones(7, np.float32),
        "value_net.weight": np.ones((1, 7), np.float32),
        "value_net.bias": np.ones(1, np.float32),
    }
    # action_net comes before the hidden layers in the alphabet, and after the critic in the file.
    file.write_bytes(archive(state_dict({**critic, **dict(reversed(tensors.items()))})))
    agent = read_agent(file)
    assert (agent.algorithm, agent.activation, agent.masked) == ("actor-critic", "tanh", False)
    x = np.array([[0.5, -1.0, 2.0]])
    y = x
    layers = list(tensors.values())
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        y = y @ weight.T.astype(float) + bias
        y = np.tanh(y) if len(bias) > 2 else y
    assert mlp_network(agent.weights).evaluate(x) == pytest.approx(y)


def test_a_q_network(file: Path) -> None:
    tensors = actor([3, 5, 2], dqn=True)
    file.write_bytes(archive(state_dict(tensors)))
    agent = read_agent(file)
    assert (agent.algorithm, agent.activation) == ("dqn", "relu")
    hidden = np.maximum(tensors["q_net.q_net.0.weight"].sum(1) + tensors["q_net.q_net.0.bias"], 0)
    outputs = tensors["q_net.q_net.2.weight"] @ hidden + tensors["q_net.q_net.2.bias"]
    evaluated = mlp_network(agent.weights).evaluate(np.ones((1, 3)))[0]
    assert evaluated == pytest.approx(outputs.tolist(), abs=1e-5)


def test_what_the_readable_part_says(file: Path) -> None:
    weights = state_dict(actor([3, 5, 2]))
    told = {"policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>"}}
    file.write_bytes(archive(weights, {**MASKABLE, **told}))
    agent = read_agent(file)
    assert (agent.algorithm, agent.activation, agent.masked) == ("maskable", "relu", True)
    assert read_agent(file, "tanh").activation == "tanh"
    told["policy_kwargs"]["activation_fn"] = "<class 'torch.nn.modules.activation.ELU'>"
    file.write_bytes(archive(weights, told))
    with pytest.raises(UnsupportedError, match="the activation elu"):
        read_agent(file)


def test_hostile_pickles_are_not_run(file: Path) -> None:
    witness = Path("/tmp/misstep-was-here")
    file.write_bytes(archive(hostile()))
    with pytest.raises(UnsupportedError, match=r"\((posix|nt|os)\.system\).*nothing of it was"):
        read_agent(file)
    assert not witness.exists()


def one(tensors: dict[str, Any]) -> bytes:
    return archive(state_dict({name: np.array(t, np.float32) for name, t in tensors.items()}))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is not a saved agent"),
        (b"PK\x03\x04", "cut short or damaged"),
        (state_dict(actor([2, 2])), "no file data"),
        (archive(b"no archive"), "policy.pth: the file is not a state dict"),
        (archive(state_dict(actor([2, 2])), [1]), "no JSON object"),
        (archive(state_dict({})), "no state dict"),
        (one({"log_std": [1.0]}), "continuous actions"),
        (one({"features_extractor.cnn.0.weight": [[1.0]]}), "a part features_extractor.cnn"),
        (one({"q_net.q_net.0.weight": [[1.0]], "x": [1.0]}), "a part x, which is no plain"),
        (one({"mlp_extractor.policy_net.0.weight": [[1.0]]}), "no action_net"),
        (one({"action_net.weight": [[np.inf]]}), "infinite or undefined"),
        (one({"action_net.weight": [1.0]}), "no linear layer"),
    ],
)
def test_bad_archives(content: bytes, told: str, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(MisstepError, match=told) as caught:
        read_agent(file)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_damage(file: Path) -> None:
    """Any byte of the stored pickle may be another one: never anything but one line, or an agent."""
    weights = state_dict(actor([2, 3, 2]))
    at = weights.index(b"\x80\x02ccollections")
    random = np.random.default_rng(0)
    for _ in range(400):
        broken = bytearray(weights)
        broken[at + int(random.integers(300))] = int(random.integers(256))
        file.write_bytes(archive(bytes(broken)))
        with suppress(MisstepError):
            read_agent(file)
    for size in range(0, len(weights), 41):
        file.write_bytes(archive(weights[:size]))
        with pytest.raises(InputFormatError):
            read_agent(file)


def test_a_bomb_is_not_unpacked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "MAX_BYTES", 10_000)
    file.write_bytes(archive(b"\0" * 20_000))
    with pytest.raises(UnsupportedError, match="unpacks to"):
        read_agent(file)
