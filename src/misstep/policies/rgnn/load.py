"""The network of `gnn:`, without pickles.

rgnn:[--device=cpu|cuda] [--ignore-unsolvable|--published-server [--made-up-head=N]] [--plain] [--seed=N] FILE
"""

from __future__ import annotations

from misstep.policies.gnn.policy import GNNPolicy, parse
from misstep.policies.service import wanted
from misstep.tasks.task import Task


def load(argument: str, task: Task) -> GNNPolicy:
    options, path = parse(argument, "rgnn")
    if wanted(options.device) and not options.own_network:
        policy = GNNPolicy(task, path, options, kind="rgnn")
    else:
        from misstep.policies.rgnn.model_file import files, read_model

        policy = GNNPolicy(task, files(path)[0], options, checkpoint=read_model(path))
    policy.name = f"rgnn:{argument}"
    return policy


__all__ = ["load"]
