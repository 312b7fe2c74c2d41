"""The parts of Q-learning, each against a plain computation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from misstep._core import CounterRandom
from misstep.errors import InputFormatError, UsageError
from misstep.policies.networks.mlp import Layer, mlp_network
from misstep.tasks.jani.episodes import Rewards
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.environments import Environments, Transitions
from misstep.training.qlearning.evaluate import evaluate, spread
from misstep.training.qlearning.replay import Batch, Replay
from misstep.training.qlearning.settings import QSettings

pytest.importorskip("torch")
from misstep.training.qlearning.learner import Learner


def learner(settings: QSettings, seed: int = 0, inputs: int = 3, labels: int = 4) -> Learner:
    random = np.random.default_rng(seed)
    mean, range = random.normal(size=inputs), random.uniform(0.5, 2, inputs)
    return Learner(settings, mean, range, labels, random)


def forward(parameters: list[Any], own: Learner, rows: Any) -> Any:
    """The network in plain numpy."""
    x = (rows - own.mean) / own.range
    arrays = [p.detach().numpy().astype(np.float64) for p in parameters]
    for i in range(0, len(arrays), 2):
        x = x @ arrays[i].T + arrays[i + 1]
        if i + 2 < len(arrays):
            x = np.maximum(x, 0)
    return x


def batch(size: int, seed: int = 3) -> Batch:
    random = np.random.default_rng(seed)
    masks = random.random((size, 4)) < 0.4
    masks[np.arange(size), random.integers(4, size=size)] = True
    terminal = random.random(size) < 0.3
    masks[terminal] = False
    return Batch(
        random.normal(size=(size, 3)).astype(np.float32),
        random.integers(4, size=size),
        random.choice([-100, -0.1, 100], size).astype(np.float32),
        random.normal(size=(size, 3)).astype(np.float32),
        masks,
        terminal,
    )


def test_the_loss_looks_at_applicable_labels_only(small: QSettings) -> None:
    own = learner(small)
    for _ in range(20):
        own.update(batch(32, seed=1))  # so that network and target differ
    given = batch(64)
    values = forward(own.parameters, own, given.after)
    best = np.where(given.after_masks, values, -np.inf).argmax(1)
    unmasked = values.argmax(1)
    assert (best != unmasked)[~given.terminal].any()
    rows = np.arange(64)
    worth = forward(own.target, own, given.after)[rows, best]
    aims = given.rewards / 100 + small.gamma * np.where(given.terminal, 0, worth)
    predicted = forward(own.parameters, own, given.before)[rows, given.labels]
    before = [p.detach().clone() for p in own.target]
    assert own.update(given) == pytest.approx(((predicted - aims) ** 2).mean(), rel=1e-4)
    for old, new, fast in zip(before, own.target, own.parameters, strict=True):
        expected = old + small.tau * (fast.detach() - old)
        assert np.allclose(new.numpy(), expected.numpy(), atol=1e-7)


def test_the_written_network_is_the_one_that_learns(small: QSettings) -> None:
    own = learner(replace(small, hidden=(16, 8)))
    own.update(batch(32))
    rows = np.random.default_rng(5).normal(size=(100, 3)).astype(np.float32)
    native = mlp_network(own.weights()).evaluate(rows.astype(np.float64))
    assert np.allclose(native, own.values(rows) * 100, atol=1e-3)


def test_replay_is_a_ring() -> None:
    replay = Replay(5, 1, 2)

    def add(numbers: list[int]) -> None:
        column = np.array(numbers, dtype=np.float32)
        masks = np.ones((len(numbers), 2), np.bool_)
        step = Transitions(column[:, None], masks, column, column > 5)
        replay.add(column[:, None], column.astype(np.int64), step)

    add([0, 1, 2])
    assert len(replay) == 3
    assert set(replay.sample(100, np.random.default_rng(0)).labels.tolist()) == {0, 1, 2}
    add([3, 4, 5, 6])
    assert len(replay) == 5
    sample = replay.sample(200, np.random.default_rng(0))
    assert set(sample.labels.tolist()) == {2, 3, 4, 5, 6}
    assert (sample.terminal == (sample.labels > 5)).all()
    assert (sample.before[:, 0] == sample.labels).all()
    other = Replay(5, 1, 2)
    other.restore({name: array.copy() for name, array in replay.arrays().items()}, replay.added)
    again = other.sample(200, np.random.default_rng(0))
    assert all(np.array_equal(a, b) for a, b in zip(sample.columns(), again.columns(), strict=True))


def test_environments_follow_the_task(task: JaniTask) -> None:
    columns = [2, 0]
    own = Environments(
        task, Rewards(), columns, count=3, horizon=7, random=CounterRandom(1, stream=2)
    )
    choosing = CounterRandom(4)
    for _ in range(200):
        before = [own.episodes.engine.values(state) for state in own.states]
        masks = own.masks()
        assert (own.observations() == [[float(s[2]), float(s[0])] for s in before]).all()
        for mask, state in zip(masks, before, strict=True):
            assert np.flatnonzero(mask).tolist() == task.applicable(state)
        labels = [int(np.flatnonzero(m)[choosing.below(int(m.sum()))]) for m in masks]
        after, after_masks, rewards, terminal = own.step(labels)
        for i, label in enumerate(labels):
            outcomes = [
                o for o in task.outcomes(before[i], label) if list(after[i]) == [o[2], o[0]]
            ]
            assert outcomes
            if terminal[i]:
                assert not after_masks[i].any()
                assert rewards[i] in (100, -100)
            else:
                assert rewards[i] == np.float32(-0.1)
        assert max(own.lengths) < 7
    summary = own.tally.summary()
    assert summary["goal_rate"] > 0
    assert summary["unsafe_rate"] > 0
    assert summary["length"] <= 7


def test_evaluation_of_a_policy_with_known_fate(task: JaniTask, small: QSettings) -> None:
    """Who always accelerates crashes; accelerating applies wherever it goes."""
    own = learner(small, labels=2).weights()
    last = own.layers[-1]
    always = Layer(np.zeros_like(last.matrix), np.array([1.0, 0.0]))
    network = mlp_network(replace(own, layers=(*own.layers[:-1], always)))
    found = evaluate(task, network, [0, 1, 2], episodes=50, horizon=50, seed=9)
    assert found["episodes"] == 50
    assert found["unsafe_rate"] == 1.0
    assert found["goal_rate"] == 0.0
    assert found["return"] == pytest.approx(-100 - 0.1 * (found["length"] - 1))
    assert found == evaluate(task, network, [0, 1, 2], episodes=50, horizon=50, seed=9)
    cut = evaluate(task, network, [0, 1, 2], episodes=50, horizon=1)
    assert cut["unsafe_rate"] == 0.0
    with pytest.raises(UsageError, match="2 inputs and 2 outputs"):
        evaluate(task, network, [0, 1], episodes=1, horizon=5)


def test_epsilon_falls_and_stays(small: QSettings) -> None:
    assert small.epsilon(0) == 1.0
    assert small.epsilon(150) == pytest.approx(0.05**0.5)
    assert small.epsilon(300) == pytest.approx(0.05)
    assert small.epsilon(10**6) == pytest.approx(0.05)
    assert replace(small, epsilon_steps=0).epsilon(320) == pytest.approx(0.05)


def test_inputs_are_spread() -> None:
    rows = np.array([[1, 5, 2000.123], [3, 5, 1000]], dtype=np.float32)
    mean, range = spread(rows)
    assert mean.tolist() == [2, 5, 1500]
    assert range.tolist() == [1, 1, 500]


@pytest.mark.parametrize(
    "change",
    [
        {"hidden": ()},
        {"hidden": (0,)},
        {"steps": 0},
        {"environments": 10**4 + 1},
        {"warm_up": 10**6},
        {"gamma": 1.5},
        {"stop_at": 2.0},
        {"learning_rate": float("nan")},
    ],
)
def test_settings_that_make_no_sense(small: QSettings, change: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        replace(small, **change)


def test_settings_survive_json(small: QSettings) -> None:
    own = replace(small, ignore=("pos",), rewards=Rewards(step=-1))
    assert QSettings.from_dict(own.as_dict(), "here") == own
    without = {name: value for name, value in own.as_dict().items() if name != "steps"}
    with pytest.raises(InputFormatError, match="the number of steps is missing"):
        QSettings.from_dict(without, "here")
    with pytest.raises(UsageError, match="reward goal"):
        Rewards(goal=float("inf"))
