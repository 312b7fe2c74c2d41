"""The PyTorch twin against the native network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from misstep.policies.asnet.model_file import read_model, write_model
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

    decided = policy.decide(states).operators
    twin = model.decide(ground, torch.as_tensor(states)).numpy()
    differ = np.flatnonzero(decided != twin)
    gap = np.abs(logits.numpy()[differ, decided[differ]] - logits.numpy()[differ, twin[differ]])
    assert (gap < 1e-4).all()  # only near-ties


def test_runner(make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    """A fixed batch size, filled up at the end, decides as any batch does."""
    from misstep.policies.asnet.torch_network import ASNet

    task = make_task("blocksworld", blocks=5)
    states = torch.as_tensor(walk(task, 150))
    model = ASNet(weigh(task))
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices:
        model.to(device)
        ground = model.ground(task, device)
        runner = model.compile_for(ground, 64)
        np.testing.assert_array_equal(runner(states), model.decide(ground, states).cpu())
        assert len(runner(states[:0])) == 0


def test_training_and_saving(make_task: MakeTask, walk: Walk, weigh: Weigh, tmp_path: Path) -> None:
    """Every weight gets a gradient, and what is saved decides as what was trained."""
    from misstep.policies.asnet.torch_network import ASNet

    task = make_task("blocksworld", blocks=4)
    states = torch.as_tensor(walk(task, 100))
    model = ASNet(weigh(task), dropout=0.1)
    ground = model.ground(task)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        logits, applicable = model(ground, states)
        masked = logits.masked_fill(~applicable, float("-inf"))
        target = applicable.to(torch.int64).argmax(1)  # the first applicable operator
        loss = torch.nn.functional.cross_entropy(masked, target)
        optimiser.zero_grad()
        loss.backward()
        assert all(tensor.grad is not None for tensor in model.parameters())
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    model.eval()
    write_model(model.to_weights({"steps": 20}), tmp_path / "net.safetensors")
    weights, digest = read_model(tmp_path / "net.safetensors")
    assert weights.training == {"steps": 20}
    native = ASNetPolicy(task, weights, digest=digest).decide(states.numpy()).operators
    np.testing.assert_array_equal(native, model.decide(ground, states))


def test_dropout_only_in_training(make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    from misstep.policies.asnet.torch_network import ASNet

    task = make_task("blocksworld", blocks=3)
    states = torch.as_tensor(walk(task, 10))
    model = ASNet(weigh(task), dropout=0.5)
    ground = model.ground(task)
    first, second = model(ground, states)[0], model(ground, states)[0]
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(model(ground, states)[0], model(ground, states)[0])
