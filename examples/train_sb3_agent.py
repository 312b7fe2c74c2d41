"""Train a small agent of Stable-Baselines3 on a planning task and test it (pip install sb3-contrib 'misstep[gym]').

    python examples/train_sb3_agent.py ferry-ppo.zip

With `--bare` the file keeps only the weights of the actor: that is all that `sb3:` reads.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO

import misstep
from misstep.tasks.gym import PlanningEnv


def bare(agent: MaskablePPO, out: Path) -> None:
    state = agent.policy.state_dict()
    actor = {name: state[name] for name in state if "value" not in name}
    weights = io.BytesIO()
    torch.save(actor, weights)
    data = {"policy_class": {"__module__": type(agent.policy).__module__}}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("data", json.dumps(data)), ("policy.pth", weights.getvalue())):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--bare"]
    out = Path(arguments[0] if arguments else "ferry-ppo.zip")
    torch.set_num_threads(1)
    task = misstep.load_task(misstep.generate("ferry", cars=2, locations=3, seed=0))
    agent = MaskablePPO(
        "MlpPolicy",
        PlanningEnv(task, horizon=40, walk=8),
        n_steps=256,
        learning_rate=3e-3,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [16]},
        seed=1,
    )
    agent.learn(6_000)
    bare(agent, out) if "--bare" in sys.argv else agent.save(out)
    found = misstep.test(task, f"sb3:{out}", pool=30, seed=1)
    print(f"{len(found.bugs)} bugs in {len(found.records)} states of {task.name}")
