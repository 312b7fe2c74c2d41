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


@pytest.mark.parametrize("layers", [2, 3])
def test_numbers_that_are_undefined_in_one_are_so_in_the_other(
    layers: int, make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    """A maximum by comparisons would drop them, and a decision would be made of the rest."""
    from misstep.policies.asnet.torch_network import ASNet

    task = make_task("visitall", width=4, height=4)
    states, found = walk(task, 30), set()
    for seed in range(20):
        weights = weigh(task, seed=seed, hidden=2, layers=layers)
        # Products overflow each by itself: the order of a sum is another one in PyTorch.
        for name, tensor in weights.tensors.items():
            if name.startswith("action.0"):
                tensor *= np.float32(1e30)
            if name.startswith("proposition.0"):
                tensor *= np.float32(1e20)
        policy, model = ASNetPolicy(task, weights), ASNet(weights)
        offsets, operators = candidates = policy.all_candidates(states)
        rows = np.repeat(np.arange(len(states)), np.diff(offsets))
        with torch.no_grad():
            logits, _ = model(model.ground(task), torch.as_tensor(states))
        fine = np.isfinite(logits[rows, operators].numpy())
        assert np.isfinite(policy.logits(states, candidates)).tolist() == fine.tolist()
        found |= set(fine.tolist())
    assert found == {True, False}
