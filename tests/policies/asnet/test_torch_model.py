"""The version in PyTorch agrees with the native network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.weights import Weights
from misstep.policies.policy import States
from misstep.tasks.task import Task

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TASKS: list[tuple[str, dict[str, int]]] = [
    ("blocksworld", {"blocks": 7}),
    ("gripper", {"balls": 6}),
    ("transport", {"vehicles": 2, "packages": 4, "locations": 5}),
    ("satellite", {"satellites": 2, "instruments": 3, "directions": 4}),
    ("visitall", {"width": 4, "height": 4}),
]
Walk = Callable[[Task, int], States]
MakeTask = Callable[..., Task]
Weigh = Callable[..., Weights]


@pytest.mark.parametrize(("domain", "sizes"), TASKS, ids=[name for name, _ in TASKS])
def test_against_native(
    domain: str, sizes: dict[str, int], make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    from misstep.policies.asnet.torch_network import ASNet

    task = make_task(domain, **sizes)
    states = walk(task, 2000)
    weights = weigh(task, seed=3)
    policy = ASNetPolicy(task, weights)
    model = ASNet(weights)
    ground = model.ground(task)
    candidates = policy.all_candidates(states)
    rows = np.repeat(np.arange(len(states)), np.diff(candidates.offsets))
    with torch.no_grad():
        logits, applicable = model(ground, torch.as_tensor(states))
    assert applicable.sum() == len(candidates.operators)
    assert applicable[rows, candidates.operators].all()
    native = policy.logits(states, candidates)
    np.testing.assert_allclose(logits[rows, candidates.operators], native, atol=1e-4)
