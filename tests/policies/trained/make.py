"""Train the small agents in this folder: `PYTHONPATH=src:tests python tests/policies/trained/make.py` (seconds).

Needs Stable-Baselines3 and sb3-contrib. Each agent is trained for a few hundred steps on a small model, as its package
trains it, and saved by its own `save`. The archives are then reduced to what can be read without those packages: the
weights and the readable part of `data`. Beside each lie rows of inputs with what PyTorch computes for them.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import ARS, QRDQN, MaskablePPO
from stable_baselines3 import DQN, PPO

from misstep.tasks.jani.gym import JaniEnv
from support.jani import TINY_LINE, task

HERE = Path(__file__).parent
KEPT = ("policy_class", "policy_kwargs", "observation_space", "action_space", "n_quantiles")
NET: dict[str, Any] = {"net_arch": [8, 8]}
LEAKY = partial(torch.nn.LeakyReLU, 0.2)
AGENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ppo": (PPO, {"n_steps": 64, "policy_kwargs": NET}),
    "maskable-elu": (
        MaskablePPO,
        {"n_steps": 64, "policy_kwargs": {**NET, "activation_fn": torch.nn.ELU}},
    ),
    "ppo-leaky": (PPO, {"n_steps": 64, "policy_kwargs": {**NET, "activation_fn": LEAKY}}),
    "dqn": (DQN, {"learning_starts": 50, "policy_kwargs": NET}),
    "qrdqn": (QRDQN, {"learning_starts": 50, "policy_kwargs": {**NET, "n_quantiles": 5}}),
    "ars": (ARS, {"n_delta": 2, "policy_kwargs": NET}),
}


def outputs(agent: Any, rows: torch.Tensor) -> list[list[float]]:
    """What the agent's own network gives, whatever the algorithm calls it."""
    policy = agent.policy
    with torch.inference_mode():
        if hasattr(policy, "q_net"):
            found = policy.q_net(rows)
        elif hasattr(policy, "quantile_net"):
            found = policy.quantile_net(rows).mean(dim=1)
        elif hasattr(policy, "mlp_extractor"):
            found = policy.action_net(policy.mlp_extractor.forward_actor(rows))
        else:
            found = policy.action_net(rows)
    listed: list[list[float]] = found.tolist()
    return listed


def readable(value: Any) -> Any:
    """Without what is pickled, which holds paths of the machine."""
    if isinstance(value, dict):
        return {k: "" if k == ":serialized:" else readable(v) for k, v in value.items()}
    return value


def reduced(agent: Any, out: Path) -> None:
    saved = io.BytesIO()
    agent.save(saved)
    with zipfile.ZipFile(saved) as archive:
        data, weights = json.loads(archive.read("data")), archive.read("policy.pth")
    kept = {key: readable(data[key]) for key in KEPT if key in data}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("data", json.dumps(kept)), ("policy.pth", weights)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def checkpoint(agent: Any, out: Path) -> None:
    """A state dict as scripts write it: with a step, a return of numpy, and the optimiser beside it."""
    actor = torch.nn.Sequential(
        *(agent.policy.mlp_extractor.policy_net), agent.policy.action_net
    ).cpu()
    stored = {
        "state_dict": actor.state_dict(),
        "optimizer": torch.optim.Adam(actor.parameters()).state_dict(),
        "step": 300,
        "mean_return": np.float64(-1.25),
        "best": np.float32(0.5),
        "solved": np.bool_(False),
    }
    torch.save(stored, out)


def main() -> None:
    torch.set_num_threads(1)
    env = JaniEnv(task(TINY_LINE), horizon=20)
    random = np.random.default_rng(0)
    rows = np.concatenate([random.integers(0, 3, (24, 3)), random.normal(size=(24, 3)) * 2])
    inputs = torch.tensor(rows, dtype=torch.float32)
    for name, (kind, options) in AGENTS.items():
        agent = kind("MlpPolicy", env, seed=1, device="cpu", **options)
        agent.learn(300)
        reduced(agent, HERE / f"{name}.zip")
        golden = {"inputs": inputs.tolist(), "outputs": outputs(agent, inputs)}
        (HERE / f"{name}.json").write_text(json.dumps(golden) + "\n")
        if name == "ppo":
            checkpoint(agent, HERE / "ppo-actor.pt")


if __name__ == "__main__":
    main()
