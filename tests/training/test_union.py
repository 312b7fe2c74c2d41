"""The network over several tasks against the network of one task."""

from __future__ import annotations

import numpy as np
import pytest

from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import random_weights
from misstep.tasks.task import Task
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings
from misstep.training.teachers import ExhaustiveTeacher
from misstep.training.union import share_places
from support.tasks import generated_task

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

DOMAINS: dict[str, list[dict[str, int]]] = {
    "gripper": [{"balls": 1}, {"balls": 3}],
    "blocksworld": [{"blocks": 3}, {"blocks": 4}],
    "ferry": [{"cars": 2, "locations": 2}, {"cars": 2, "locations": 3}],  # negative preconditions
    "childsnack": [{"children": 1}, {"children": 2, "gluten": 50}],  # constants
    "floortile": [{"width": 2, "height": 2}],  # an unused predicate
    "visitall": [{"width": 2, "height": 2}, {"width": 2, "height": 3}],
}


def everything(tasks: list[Task], limit: int = 40) -> Samples:
    samples = Samples(tasks)
    for t, task in enumerate(tasks):
        samples.add_all(t, ExhaustiveTeacher(task).all_states()[:limit])
    return samples


@pytest.mark.parametrize("native", [True, False], ids=["native", "tensors"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_logits_and_gradient(domain: str, native: bool) -> None:
    from misstep.policies.asnet.torch_network import ASNet
    from misstep.training.learner import Learner
    from misstep.training.network import PlanTensors, UnionNetwork, Workspace, from_flat

    tasks = [generated_task(domain, seed=1, **sizes) for sizes in DOMAINS[domain]]
    structures = [structure_of(task) for task in tasks]
    samples = everything(tasks)
    learner = Learner(tasks, structures, LearnerSettings(batch_size=20))
    learner.data.update(samples)
    (copies,) = learner._groups()
    assert sum(copies) == 20
    chosen = learner.data.draw(copies, np.random.Generator(np.random.PCG64(1)))
    weights = random_weights(structures[0].shape, seed=2, hidden=5, bias=0.3)
    union = UnionNetwork(weights)
    space = Workspace(union, PlanTensors(learner._plan(copies).plan, native=native))
    loss = learner.loss(space, chosen)
    learner.gradient(space, chosen)

    twin = ASNet(weights)
    total = torch.zeros(())
    first = 0
    for t, c in enumerate(copies):
        own = [samples[t].samples[int(i) - int(learner.data._first[t])] for i in chosen[first:][:c]]
        first += c
        states = torch.tensor([sample.state.values for sample in own])
        logits, applicable = twin(twin.ground(tasks[t]), states)
        chances = logits.masked_fill(~applicable, -torch.inf).log_softmax(1)
        for row, sample in zip(chances, own, strict=True):
            total = total - row[list(sample.good)].mean()
    (total / 20).backward()
    assert abs(loss - total.item() / 20) < 1e-4
    gradient = from_flat(union.gradient.numpy(), twin.shape, 5, 2, {}).tensors
    for name, tensor in zip(twin.names, twin.tensors, strict=True):
        expected = np.zeros_like(gradient[name]) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(gradient[name], expected, atol=2e-4, err_msg=name)


def test_weights_survive() -> None:
    from misstep.training.network import UnionNetwork

    weights = random_weights(structure_of(generated_task("gripper", balls=1)).shape, bias=0.1)
    again = UnionNetwork(weights).to_weights({})
    assert weights.tensors.keys() == again.tensors.keys()
    for name, tensor in weights.tensors.items():
        np.testing.assert_array_equal(tensor, again.tensors[name])


def test_epoch_is_a_function_of_its_arguments() -> None:
    from misstep.training.learner import Learner, Model

    tasks = [generated_task("gripper", balls=n) for n in (1, 2)]
    structures = [structure_of(task) for task in tasks]
    samples = everything(tasks)
    settings = LearnerSettings(steps=3, batch_size=8)
    start = Model(random_weights(structures[0].shape, hidden=4))
    results = []
    for _ in range(2):
        torch.rand(5)  # what others do with PyTorch's generator does not matter
        learner = Learner(tasks, structures, settings)
        model, loss = learner.epoch(start, samples, 5)
        model, second = learner.epoch(model, samples, 6)
        results.append((loss, second, model.weights.flat().tobytes()))
    assert results[0] == results[1]
    assert learner.epoch(start, samples, 7)[1] != results[0][0]


def test_more_tasks_than_places() -> None:
    from misstep.training.learner import Learner, Model

    tasks = [generated_task("gripper", balls=n) for n in (1, 2, 3)]
    structures = [structure_of(task) for task in tasks]
    learner = Learner(tasks, structures, LearnerSettings(steps=4, batch_size=2))
    samples = everything(tasks)
    learner.epoch(Model(random_weights(structures[0].shape, hidden=4)), samples, 1)
    assert learner._groups() == [(1, 1, 0), (0, 0, 2)]


def test_weighted_draws() -> None:
    from misstep.training.learner import Learner

    tasks = [generated_task("gripper", balls=2)]
    learner = Learner(tasks, [structure_of(tasks[0])], LearnerSettings(batch_size=64))
    samples = everything(tasks)
    heavy = samples[0].samples[3]
    samples[0].add(heavy._replace(weight=1000.0))  # raises the weight of the one that is there
    learner.data.update(samples)
    chosen = learner.data.draw((64,), np.random.Generator(np.random.PCG64(1)))
    assert int((chosen == 3).sum()) > 55


def test_places_are_shared_out() -> None:
    assert share_places([1, 1, 2], 8) == (2, 2, 4)
    assert share_places([1, 1000, 0], 8) == (1, 7, 0)
    assert share_places([0, 0], 8) == (0, 0)
    assert sum(share_places([5, 85, 253, 3], 64)) == 64


def test_adam_is_adam() -> None:
    from misstep.training.adam import Adam

    generator = torch.Generator().manual_seed(1)
    start = torch.randn(50, generator=generator)
    theirs = start.clone().requires_grad_()
    optimiser = torch.optim.Adam([theirs], lr=0.01, weight_decay=0.1)
    ours = start.clone()
    options = {"learning_rate": 0.01, "weight_decay": 0.1, "clip": 3.0}
    adam = Adam(ours, None, **options)
    for i in range(20):
        gradient = torch.randn(50, generator=generator)
        theirs.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_([theirs], 3.0)
        optimiser.step()
        if i == 10:  # taken up again from its moments
            adam = Adam(ours, adam.moments(), **options)
        adam.step(gradient)
    torch.testing.assert_close(ours, theirs.detach(), atol=1e-6, rtol=1e-5)


def test_on_a_gpu() -> None:
    """The same losses as on the CPU, to rounding, and the same bits every time."""
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    from misstep.training.learner import Learner, Model

    tasks = [generated_task("gripper", balls=n) for n in (1, 2)]
    structures = [structure_of(task) for task in tasks]
    samples = everything(tasks)
    settings = LearnerSettings(steps=20, batch_size=16, dropout=0.0)
    start = Model(random_weights(structures[0].shape, hidden=4))
    results = [
        Learner(tasks, structures, settings, device).epoch(start, samples, 5)
        for device in ("cpu", "cuda", "cuda")
    ]
    assert abs(results[0][1] - results[1][1]) < 1e-3
    assert results[1][0].weights.flat().tobytes() == results[2][0].weights.flat().tobytes()
