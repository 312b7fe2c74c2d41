"""States that come between epochs: which ones, with which labels and weights, and how they are mixed in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.campaigns.testing import test as run_test
from misstep.errors import UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from misstep.training.bugs import MOST, read_faults, weight_of
from misstep.training.feedback import SOURCES, Candidate, Feedback, FeedbackTask, collect
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.teachers import make_teacher
from misstep.training.testing import TestSettings
from misstep.training.union import share_places
from support.tasks import small_task
from support.worlds import World, world
from training.conftest import gripper

POLICY = "noisy:0.3:5+optimal"
TEST = TestSettings(pool_size=20)


def source_of(task: Task) -> FeedbackTask:
    return FeedbackTask(task, make_teacher("auto", task), TEST)


def loss(truth: World, policy: Policy, state: State) -> float:
    """What the decision of the policy loses."""
    chosen = int(policy.decide(np.array([state.values], np.int32)).operators[0])
    task = truth.task
    return task.cost(chosen) + truth.h_star(task.apply(state, chosen)) - truth.h_star(state)


@pytest.mark.parametrize("name", ["blocksworld-4", "gripper-4", "ferry-3"])
def test_every_source_brings_what_it_says(name: str) -> None:
    truth = world(name, ())
    task, policy = truth.task, load_policy(POLICY, truth.task)
    own = source_of(task)
    found = {s: own.candidates(policy, Feedback(source=s), 7) for s in SOURCES}
    faults = {one.state for one in found["faults"]}
    assert faults
    assert all(loss(truth, policy, state) > 0 for state in faults)
    assert not all(loss(truth, policy, one.state) > 0 for one in found["random"])
    assert faults < {one.state for one in found["before"]} <= {one.state for one in found["runs"]}
    assert {one.state for one in found["runs"]} <= {one.state for one in found["on-policy"]}
    # What comes before a fault leads to it in two steps at most.
    runner = PolicyRunner(policy)
    for one in found["before"]:
        assert faults & set(runner.trace(one.state, 2).states[:3])


def test_faults_are_those_of_the_policy_of_now() -> None:
    task = small_task("gripper-4")
    own = source_of(task)
    assert own.candidates(load_policy("noisy:0.3:5+optimal", task), Feedback(), 7)
    assert own.candidates(load_policy("optimal", task), Feedback(), 7) == []


def test_labels_and_weights() -> None:
    truth = world("blocksworld-4", ())
    policy = load_policy(POLICY, truth.task)
    own = source_of(truth.task)
    for one in own.candidates(policy, Feedback(weighted=True), 7):
        assert one.weight == 1 + min(MOST, max(1, loss(truth, policy, one.state)))
        taught, found = own.label(one, True), own.label(one, False)
        assert taught is not None
        assert found is not None
        assert set(found.good) <= set(taught.good)  # exact here, so both are best
        assert taught.weight == found.weight == one.weight
    assert {one.weight for one in own.candidates(policy, Feedback(), 7)} == {1.0}
    assert [weight_of(own) for own in (0, 1, 4, 99, None)] == [2, 2, 5, 1 + MOST, 1 + MOST]


def test_collecting_brings_so_many_new_states_in_turns() -> None:
    tasks = [small_task("gripper-4"), gripper(3)]
    sources = [source_of(task) for task in tasks]
    policies = [load_policy(POLICY, task) for task in tasks]
    samples = Samples([gripper(1), *tasks])
    for settings in (Feedback(source="random", states=9), Feedback(source="on-policy", states=9)):
        before = len(samples)
        assert collect(sources, policies, samples, 1, settings, 3) == 9
        assert len(samples) == before + 9
    assert len(samples[0]) == 0
    assert abs(len(samples[1]) - len(samples[2])) <= 2
    # There are only so many faults, and none comes twice.
    settings = Feedback(states=10_000)
    first = collect(sources, policies, samples, 1, settings, 3)
    assert 0 < first < 10_000
    again = collect(sources, policies, samples, 1, settings, 3)
    assert again == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"source": "bugs"}, "no source 'bugs'; expected random, on-policy"),
        ({"labels": "mine"}, "no labels 'mine'"),
        ({"ratio": 0.0}, "the ratio is 0.0"),
        ({"ratio": 1.5}, "the ratio is 1.5"),
        ({"states": 0}, "states is 0"),
        ({"every": -1}, "every is -1"),
        ({"source": "runs", "labels": "found"}, "finds no labels for the source runs"),
    ],
)
def test_what_cannot_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Feedback(**wrong)


def test_mixing() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.training.learner import mixed

    assert mixed([30.0, 10.0, 2.0, 6.0], 2, 0.5) == [0.375, 0.125, 0.125, 0.375]
    assert share_places(mixed([30.0, 10.0, 2.0, 6.0], 2, 0.25), 64) == (36, 12, 4, 12)
    assert share_places(mixed([30.0, 10.0, 2.0, 6.0], 2, 1), 64) == (0, 0, 16, 48)
    # Where one side has nothing, the other has everything.
    assert mixed([30.0, 10.0, 0.0], 2, 0.5) == [30.0, 10.0, 0.0]
    assert mixed([0.0, 2.0], 1, 0.25) == [0.0, 2.0]


def test_minibatches_have_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.policies.asnet.shape import shape_of
    from misstep.policies.asnet.structure import structure_of
    from misstep.policies.asnet.weights import random_weights
    from misstep.training.learner import Learner, Model
    from misstep.training.samples import Sample

    tasks = [gripper(2), gripper(3), gripper(2)]
    shape = shape_of(tasks[0].lifted)
    samples = Samples(tasks)
    for t, task in enumerate(tasks):
        lesson = make_teacher("auto", task).lesson(task.initial_state)
        assert lesson
        samples.add_all(t, [Sample(own.state, own.good, 3.0 if t else 1.0) for own in lesson])
    structures = [structure_of(task, shape) for task in tasks]
    settings = LearnerSettings(steps=1, batch_size=40)
    seen = []
    monkeypatch.setattr(
        Learner, "gradient", lambda _, space, *__: seen.append(space.plan.plan.copies)
    )
    for ratio, share in ((0.25, 10), (0.5, 20), (1.0, 40)):
        learner = Learner(tasks, structures, settings, fed=2, ratio=ratio)
        learner.epoch(Model(random_weights(shape, seed=1, hidden=4, layers=1)), samples, 1)
        copies = seen.pop()
        assert sum(copies[-2:]) == share
        assert sum(copies) == 40


def test_training_that_tests_again_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.training.folder import TrainingFolder
    from misstep.training.trainer import resume, train

    task = small_task("gripper-4")
    faults = read_faults(run_test([task], POLICY, preset="p24", pool=20))
    settings = TrainingSettings(
        config="line",
        epochs=4,
        n_init=1,
        hidden=4,
        learner=LearnerSettings(steps=3, batch_size=8),
        feedback=Feedback(every=2, states=6),
        test=replace(TEST, pool_size=5),
    )
    # A task of the campaign that is a training task as well has places of its own for its faults.
    tasks = [gripper(1), task]
    out = tmp_path / "out"
    train(tasks, [], out, settings, faults=faults)
    with TrainingFolder.open_folder(out) as folder:
        data = [np.load(out / f"data/{node.id:04d}.npz") for node in folder.tree]
    added = [len(own["states2"]) for own in data]
    assert added[0] == len(faults[0].samples)  # those of the campaign
    assert added[1:3] == [0, 0]
    assert 0 < added[3] <= 6  # after two epochs
    assert added[4] == 0
    before = (out / "best.safetensors").read_bytes()
    for keep in (0, 2, 3):
        resume(tasks, [], out, keep=keep, faults=faults)
        assert (out / "best.safetensors").read_bytes() == before


def test_who_labels() -> None:
    assert not Feedback().taught
    assert Feedback(source="before").taught
    assert Feedback(labels="teacher").taught
    task = small_task("gripper-4")
    policy = load_policy(POLICY, task)
    alone = FeedbackTask(task, None, TEST)
    samples = Samples([task])
    assert collect([alone], [policy], samples, 0, Feedback(states=3), 7) == 3


def test_a_state_without_a_label_is_asked_again_as_after_a_pause() -> None:
    """That a fault had no better operator yet is not stored, so a training that never stopped must not know it."""
    task = small_task("gripper-4")
    operators = task.applicable(task.initial_state)

    class Scripted(FeedbackTask):
        better: int | None = None

        def candidates(self, *_: object) -> list[Candidate]:
            return [Candidate(task.initial_state, 1.0, self.better)]

    own, samples = Scripted(task, None, TEST), Samples([task])
    policy = load_policy(POLICY, task)
    assert collect([own], [policy], samples, 0, Feedback(states=3), 7) == 0
    own.better = operators[0]
    assert collect([own], [policy], samples, 0, Feedback(states=3), 8) == 1


def test_a_recipe_without_places_cannot_be_mixed() -> None:
    from misstep.training.api import asnet_settings
    from misstep.training.trainer import Trainer

    task = small_task("gripper-4")
    faults = read_faults(run_test([task], POLICY, preset="p24", pool=5))
    Trainer.check([task], [], asnet_settings({"recipe": "p25"}), faults)
    with pytest.raises(UsageError, match="no task has one; use --retest 0"):
        Trainer.check([task], [], asnet_settings({"recipe": "p25", "retest": 2}), faults)
    old = TrainingSettings().as_dict()
    del old["feedback"]  # as a folder of an earlier version says nothing of it
    assert TrainingSettings.from_dict(old, "here").feedback.every == 0
