"""Agents as the original packages save them, on 10,000 random inputs: the same numbers, the same decisions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import UnsupportedError
from misstep.policies.load import load_policy
from misstep.policies.networks import margins
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.sb3 import read_agent
from support.jani import TINY_LINE, task

original = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

from misstep.tasks.jani.gym import make_env  # noqa: E402

ACTIVATIONS = {
    "": None,
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "elu:1": torch.nn.ELU,
    "gelu": torch.nn.GELU,
    "gelu-tanh": partial(torch.nn.GELU, approximate="tanh"),
    "leaky-relu:0.01": torch.nn.LeakyReLU,
    "leaky-relu:0.2": partial(torch.nn.LeakyReLU, 0.2),
    "sigmoid": torch.nn.Sigmoid,
    "silu": torch.nn.SiLU,
}
AGENTS = [
    *(("PPO", activation) for activation in ACTIVATIONS),
    *(("MaskablePPO", activation) for activation in ("", "gelu")),
    *(("DQN", activation) for activation in ("", "tanh", "leaky-relu:0.2")),
    *((name, "") for name in ("A2C", "TRPO", "QRDQN", "ARS")),
]


def make(name: str, environment: Any, activation: str = "", **options: Any) -> Any:
    package = original if hasattr(original, name) else contrib
    own = {"net_arch": [16, 16], **options}
    if activation:
        own["activation_fn"] = ACTIVATIONS[activation]
    return getattr(package, name)("MlpPolicy", environment, seed=1, device="cpu", policy_kwargs=own)


def numbers(agent: Any, rows: Any) -> Any:
    policy, given = agent.policy, torch.tensor(rows, dtype=torch.float32)
    with torch.inference_mode():
        if hasattr(policy, "q_net"):
            found = policy.q_net(given)
        elif hasattr(policy, "quantile_net"):
            found = policy.quantile_net(given).mean(dim=1)
        elif hasattr(policy, "mlp_extractor"):
            found = policy.get_distribution(given).distribution.logits
        else:
            found = policy.action_net(given)
    return found.double().numpy()


@pytest.mark.parametrize(("name", "activation"), AGENTS, ids=str)
def test_numbers_and_decisions(name: str, activation: str, tmp_path: Path) -> None:
    agent = make(name, make_env(task(TINY_LINE)), activation)
    if name == "ARS":  # it starts from zero
        for parameter in agent.policy.parameters():
            torch.nn.init.normal_(parameter.data)
    agent.save(tmp_path / "agent.zip")
    rows = np.random.default_rng(0).normal(size=(10_000, 3)).astype(np.float32) * 3
    read = read_agent(tmp_path / "agent.zip")
    default = "relu" if name in ("DQN", "QRDQN", "ARS") else "tanh"
    assert str(read.activation) == (activation or default)
    assert read.masked == (name == "MaskablePPO")
    expected = numbers(agent, rows)
    found = mlp_network(read.weights).evaluate(rows.astype(np.float64))
    # Logits of a distribution are normalised, which moves all of them alike.
    moved = found - found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        moved, expected - expected.mean(axis=1, keepdims=True), rtol=1e-3, atol=1e-5
    )
    clear = margins(expected, np.ones(expected.shape, np.bool_)) > 1e-5
    assert clear.sum() > 9_000
    assert (found.argmax(1) == expected.argmax(1))[clear].all()


def test_predictions_on_a_model(tmp_path: Path) -> None:
    """Trained for a moment with masks; in every state the policy decides as the agent predicts."""
    own = task(TINY_LINE)
    env = make_env(own, horizon=20)
    agent = contrib.MaskablePPO("MlpPolicy", env, seed=1, n_steps=64, device="cpu")
    agent.learn(128)
    agent.save(tmp_path / "agent.zip")
    policy = load_policy(f"sb3:{tmp_path / 'agent.zip'}", own)
    from misstep.safety import System, jani_transitions

    system = System(jani_transitions(own), policy.policy, inapplicable=policy.inapplicable)
    space = own.space()
    for number in range(len(space)):
        state = space.state(number)
        observation, _ = env.reset(options={"state": state})
        if own.applicable(state):
            action, _ = agent.predict(
                observation, action_masks=env.action_masks(), deterministic=True
            )
            assert system.native.decision(system.id(state)) == int(action)


def spaces(observations: Any, actions: Any) -> Any:
    """An environment that is never played."""
    env = make_env(task(TINY_LINE))
    env.observation_space, env.action_space = observations, actions
    return env


def test_agents_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    box = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    for name, actions, told in (
        ("SAC", box, "continuous actions"),
        ("PPO", box, "continuous actions"),
        ("PPO", gymnasium.spaces.MultiDiscrete([2, 3]), "action space MultiDiscrete"),
    ):
        make(name, spaces(box, actions)).save(path)
        with pytest.raises(UnsupportedError, match=told):
            read_agent(path)
    two = gymnasium.spaces.Discrete(2)
    make("PPO", spaces(gymnasium.spaces.Discrete(4), two)).save(path)
    with pytest.raises(UnsupportedError, match="observation space Discrete"):
        read_agent(path)
    make("PPO", spaces(box, two), activation_fn=torch.nn.Mish).save(path)
    with pytest.raises(UnsupportedError, match=r"activation\.Mish'>, which is not known"):
        read_agent(path)
    contrib.RecurrentPPO("MlpLstmPolicy", spaces(box, two), device="cpu").save(path)
    with pytest.raises(UnsupportedError, match="lstm_actor"):
        read_agent(path)
