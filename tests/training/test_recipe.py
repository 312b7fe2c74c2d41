"""`--recipe p25`: each way in which the trainer of P25 differs from ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import random_weights
from misstep.training.api import asnet_settings
from misstep.training.explore import ask
from misstep.training.feedback import Feedback
from misstep.training.samples import Samples
from misstep.training.settings import RECIPES, LearnerSettings, TrainingSettings
from misstep.training.teachers import make_teacher
from support.tasks import generated_task
from training.conftest import gripper

P25 = RECIPES["p25"]


def test_a_recipe_is_keywords_and_what_is_said_besides_wins() -> None:
    found = asnet_settings({"recipe": "p25", "epochs": 3})
    flat = {**vars(found), **vars(found.learner), "retest": found.feedback.every}
    assert {name: flat[name] for name in P25} == P25
    assert asnet_settings({"recipe": "p25", "teacher": "exhaustive"}).teacher == "exhaustive"
    usual = {**vars(TrainingSettings()), **vars(LearnerSettings()), "retest": Feedback().every}
    assert all(usual[name] != value for name, value in P25.items())
    assert asnet_settings({"recipe": "own"}) == TrainingSettings()
    with pytest.raises(UsageError, match="no recipe 'p26'; expected own or p25"):
        asnet_settings({"recipe": "p26"})
    for name in ("loss", "decay", "sampling", "initial"):
        with pytest.raises(UsageError, match=f"no {name} 'x'"):
            asnet_settings({name: "x"})


def test_first_weights_are_normal_biases_too() -> None:
    shape = shape_of(gripper(2).lifted)
    own = random_weights(shape, seed=1, initial="normal")
    numbers = own.flat().astype(np.float64)
    assert len(numbers) > 5000
    assert abs(numbers.mean()) < 0.05
    assert abs(numbers.var() - 1) < 0.05
    assert abs((numbers**4).mean() - 3) < 0.4  # the fourth moment of a normal distribution
    biases = np.concatenate([t for name, t in own.tensors.items() if name.endswith("bias")])
    assert abs(biases.var() - 1) < 0.3
    again = random_weights(shape, seed=1, initial="normal")
    assert np.array_equal(numbers, again.flat())
    assert not np.array_equal(numbers, random_weights(shape, seed=2, initial="normal").flat())
    assert not any(t.any() for n, t in random_weights(shape).tensors.items() if n.endswith("bias"))


def test_labels_are_one_operator_of_a_cheapest_plan_and_single_states_count() -> None:
    task = generated_task("spanner", spanners=2, nuts=1, locations=3, seed=1)
    filtered, whole = Samples([task]), Samples([task], single=True)
    for samples, teacher in ((filtered, "exhaustive"), (whole, P25["teacher"])):
        ask(make_teacher(teacher, task), samples, 0, task.initial_state)
    assert all(len(task.applicable(own.state)) > 1 for own in filtered[0].samples)
    assert any(len(task.applicable(own.state)) == 1 for own in whole[0].samples)
    assert all(len(own.good) == 1 for own in whole[0].samples)
    exact = make_teacher("exhaustive", task)
    assert len(whole[0].samples) == exact.h_star[exact.space.find(task.initial_state)]  # type: ignore[attr-defined]
    state = task.initial_state
    for own in whole[0].samples:
        assert own.state == state
        state = task.apply(state, own.good[0])
    assert task.is_goal(state)


torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from misstep.training.adam import Adam  # noqa: E402
from misstep.training.learner import Learner, Model  # noqa: E402
from misstep.training.network import (  # noqa: E402
    FLOOR,
    UnionNetwork,
    Workspace,
    binary_entropy,
    binary_entropy_gradient,
)


def numbers(*size: int, seed: int = 0, scale: float = 1.0) -> Any:
    return torch.as_tensor(np.random.default_rng(seed).normal(0, scale, size).astype(np.float32))


@pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
def test_the_loss_is_a_sum_of_binary_entropies_and_its_gradient_is_right(scale: float) -> None:
    logits = numbers(6, 9, scale=scale).requires_grad_()
    applicable = numbers(6, 9, seed=1) > -0.5
    applicable[:, 0] = True
    target = torch.zeros(6, 9)
    target[torch.arange(6), applicable.float().argmax(1)] = 1
    loss = binary_entropy(logits, applicable, target)
    expected = 0.0
    for row, mask, good in zip(logits.detach().double(), applicable, target, strict=True):
        chances = torch.softmax(row.masked_fill(~mask, -torch.inf), 0)
        for chance, own in zip(chances.tolist(), good.tolist(), strict=True):
            value = chance if own else 1 - chance
            expected -= np.log(max(value, FLOOR)) / 6
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-4)
    loss.backward()
    found = binary_entropy_gradient(logits.detach(), applicable, target)
    assert torch.allclose(found, logits.grad, rtol=1e-3, atol=1e-5)


def test_weights_shrink_at_each_step_whatever_the_rate() -> None:
    flat, other = numbers(50), numbers(50).requires_grad_()
    ours = Adam(flat, None, learning_rate=1e-3, weight_decay=0.0, clip=1e9, shrink=2e-4)
    theirs = torch.optim.AdamW([other], lr=1e-3, weight_decay=0.2)
    for seed in range(5):
        other.grad = numbers(50, seed=seed + 1)
        theirs.step()
        ours.step(numbers(50, seed=seed + 1))
    assert torch.allclose(flat, other.detach(), atol=1e-6)


def learner_of(**own: Any) -> tuple[Learner, Samples, Model]:
    tasks = [gripper(1), gripper(2), gripper(3)]
    structures = [structure_of(task, shape_of(task.lifted)) for task in tasks]
    samples = Samples(tasks, single=True)
    for t, task in enumerate(tasks):
        samples.add_all(t, make_teacher("exhaustive", task).all_states())  # type: ignore[attr-defined]
    settings = LearnerSettings(steps=3, batch_size=16, **own)
    learner = Learner(tasks, structures, settings)
    learner.data.update(samples)
    return learner, samples, Model(random_weights(structures[0].shape, seed=4))


def test_minibatches_are_of_any_samples_none_twice() -> None:
    learner, samples, _ = learner_of(sampling="uniform")
    random = np.random.Generator(np.random.PCG64(1))
    counts = np.zeros(len(samples))
    compositions = set()
    for _ in range(400):
        chosen = learner.data.draw_any(16, random)
        assert len(set(chosen.tolist())) == 16
        counts[chosen] += 1
        compositions.add(tuple(learner.data.per_task(chosen).tolist()))
    # All samples alike: the count of each is binomial with the same share.
    share = 16 / len(samples)
    spread = np.sqrt(400 * share * (1 - share))
    assert abs(counts - 400 * share).max() < 5 * spread
    assert len(compositions) > 10
    assert len(learner.data.draw_any(10**6, random)) == len(samples)


def test_places_that_only_fill_change_no_gradient() -> None:
    learner, _, model = learner_of(sampling="uniform", loss="binary")
    network = UnionNetwork(model.weights)
    chosen = learner.data.draw_any(16, np.random.Generator(np.random.PCG64(2)))
    counts = tuple(learner.data.per_task(chosen).tolist())
    gradients = []
    for room in (counts, tuple(own + 3 for own in counts)):
        place, real = learner.data.filled(chosen, room)
        assert int(real.sum()) == 16
        learner.gradient(Workspace(network, learner._new_plan(room)), place, None, real)
        gradients.append(network.gradient.clone())
    assert gradients[0].abs().max() > 0
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_an_epoch_is_a_function_of_the_seed_with_too_little_room_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"sampling": "uniform", "loss": "binary", "decay": "factor", "dropout": 0.0}
    learner, samples, model = learner_of(**own)
    first, loss = learner.epoch(model, samples, 7)
    assert learner.epoch(model, samples, 7)[1] == loss
    assert learner.epoch(model, samples, 8)[1] != loss
    counts = learner.data.counts
    monkeypatch.setattr(Learner, "_room", lambda _: tuple(min(1, own) for own in counts))
    tight, _ = learner.epoch(model, samples, 7)
    assert np.allclose(first.weights.flat(), tight.weights.flat(), atol=1e-5)


def test_the_loss_of_an_epoch_may_be_measured_with_dropout() -> None:
    losses = {}
    for noisy in (False, True):
        learner, samples, model = learner_of(noisy_loss=noisy, dropout=0.5)
        _, losses[noisy] = learner.epoch(model, samples, 3)
    assert losses[True] > losses[False]
