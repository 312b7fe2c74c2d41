"""Archives of agents: their networks, what else they contain, and wrong ones, refused in one line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration, Golden
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.sb3 import agent as agents
from misstep.policies.sb3 import read_agent
from support.agents import PLAIN, actor, archive, hostile, state_dict

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
    found = (agent.algorithm, str(agent.activation), agent.masked)
    assert found == ("actor-critic", "tanh", False)
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
    assert (agent.algorithm, str(agent.activation)) == ("dqn", "relu")
    hidden = np.maximum(tensors["q_net.q_net.0.weight"].sum(1) + tensors["q_net.q_net.0.bias"], 0)
    outputs = tensors["q_net.q_net.2.weight"] @ hidden + tensors["q_net.q_net.2.bias"]
    evaluated = mlp_network(agent.weights).evaluate(np.ones((1, 3)))[0]
    assert evaluated == pytest.approx(outputs.tolist(), abs=1e-5)


def test_what_the_readable_part_says(file: Path) -> None:
    weights = state_dict(actor([3, 5, 2]))
    told = {"policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>"}}
    file.write_bytes(archive(weights, {**MASKABLE, **told}))
    agent = read_agent(file)
    found = (agent.algorithm, str(agent.activation), agent.masked)
    assert found == ("maskable", "relu", True)
    assert str(read_agent(file, Declaration(Activation("tanh"))).activation) == "tanh"
    for name, expected in (("ELU", "elu:1"), ("GELU", "gelu"), ("Sigmoid", "sigmoid")):
        told["policy_kwargs"]["activation_fn"] = f"<class 'torch.nn.modules.activation.{name}'>"
        file.write_bytes(archive(weights, {**MASKABLE, **told}))
        assert str(read_agent(file).activation) == expected
    told["policy_kwargs"]["activation_fn"] = "<class 'torch.nn.modules.activation.Mish'>"
    file.write_bytes(archive(weights, {**MASKABLE, **told}))
    with pytest.raises(UnsupportedError, match=r"activation\.Mish'>, which is not known"):
        read_agent(file)


def test_a_file_that_names_no_policy_declares_no_activation(file: Path) -> None:
    file.write_bytes(archive(state_dict(actor([3, 5, 2])), {}))
    with pytest.raises(UnsupportedError, match=r"sb3:--activation=tanh agent\.zip"):
        read_agent(file)
    assert str(read_agent(file, Declaration(Activation("gelu"))).activation) == "gelu"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            {"action_space": {":type:": "<class 'gymnasium.spaces.multi_discrete.MultiDiscrete'>"}},
            "action space MultiDiscrete",
        ),
        (
            {"observation_space": {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>"}},
            "observation space Discrete",
        ),
        ({"observation_space": {"dtype": "uint8", "_shape": [3, 36, 36]}}, "the agent sees images"),
        ({"policy_kwargs": {"activation_fn": "<class '__main__.ReLU'>"}}, "which is not known"),
        (
            {
                "policy_kwargs": {
                    "features_extractor_class": "<class '__main__.MyFlattenExtractor'>"
                }
            },
            "features extractor <class '__main__.MyFlattenExtractor'>",
        ),
        ({"policy_class": {"__module__": "__main__"}}, "a policy of __main__, whose code"),
        (
            {"policy_kwargs": {"features_extractor_class": "<class '__main__.Mine'>"}},
            "features extractor <class '__main__.Mine'>",
        ),
    ],
)
def test_agents_that_compute_something_else(file: Path, data: dict[str, Any], told: str) -> None:
    weights = state_dict(actor([3, 5, 2]))
    file.write_bytes(archive(weights, {**PLAIN, **data}))
    with pytest.raises(UnsupportedError, match=told):
        read_agent(file)


def test_bytes_that_are_no_image(file: Path) -> None:
    """Stable-Baselines3 leaves them as they are: their bounds are others, or the policy says so."""
    space = {"dtype": "uint8", "_shape": [3, 1, 1], "low": "[[[0]]\n\n [[0]]]", "high": "[[[255]]]"}
    weights = state_dict(actor([3, 5, 2]))
    file.write_bytes(archive(weights, {**PLAIN, "observation_space": space}))
    with pytest.raises(UnsupportedError, match="the agent sees images"):
        read_agent(file)
    for data in (
        {"observation_space": {**space, "high": "[[[1]]]"}},
        {"observation_space": space, "policy_kwargs": {"normalize_images": False}},
    ):
        file.write_bytes(archive(weights, {**PLAIN, **data}))
        read_agent(file)


def test_rows_vouch_for_a_policy_of_somebody(file: Path) -> None:
    file.write_bytes(archive(state_dict(actor([3, 5, 2])), PLAIN))
    rows = np.random.default_rng(0).normal(size=(30, 3))
    golden = Golden(rows, mlp_network(read_agent(file).weights).evaluate(rows), "rows.json")
    own = {"policy_class": {"__module__": "__main__"}}
    file.write_bytes(archive(state_dict(actor([3, 5, 2])), own))
    tanh = Declaration(Activation("tanh"), golden=golden)
    assert str(read_agent(file, tanh).activation) == "tanh"
    with pytest.raises(InputFormatError, match="does not answer as the rows"):
        read_agent(file, Declaration(Activation("relu"), golden=golden))


def test_quantiles_that_do_not_fit(file: Path) -> None:
    name = "quantile_net.quantile_net.0"
    tensors = {f"{name}.weight": np.ones((4, 2), "f4"), f"{name}.bias": np.ones(4, "f4")}
    for count in (3, 0, None, "2"):
        file.write_bytes(archive(state_dict(tensors), {**PLAIN, "n_quantiles": count}))
        with pytest.raises(InputFormatError, match="quantiles"):
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
        (archive(state_dict(actor([2, 2])), [1]), "not a JSON object"),
        (archive(state_dict({})), "not a state dict"),
        (one({"log_std": [1.0]}), "continuous actions"),
        (one({"actor.mu.weight": [[1.0]]}), "continuous actions .as those of SAC"),
        (one({"lstm_actor.weight_ih_l0": [[1.0]]}), "lstm_actor.weight_ih_l0, which is a memory"),
        (one({"features_extractor.cnn.0.weight": [[1.0]]}), "a part features_extractor.cnn"),
        (one({"q_net.q_net.0.weight": [[1.0]], "x": [1.0]}), "a part x, which is not a plain"),
        (one({"mlp_extractor.policy_net.0.weight": [[1.0]]}), "no action_net"),
        (one({"action_net.weight": [[np.inf]]}), "infinite or undefined"),
        (one({"action_net.weight": [1.0]}), "not a linear layer"),
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
