"""Agents on tasks and models: with and without masks, which tasks they fit, and against the original."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import misstep
from misstep.errors import InputFormatError, MisstepError, UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import Candidates, States
from misstep.policies.sb3 import Sb3Policy
from misstep.tasks.census import state_space
from misstep.tasks.observations import FlatFacts
from misstep.tasks.task import Task
from support.agents import actor, archive, state_dict
from support.jani import TINY_LINE
from support.jani import task as jani_task

ZOO = Path(misstep.__file__).parent / "policies" / "zoo" / "ferry-ppo.zip"
MASKABLE = {"policy_class": {"__module__": "sb3_contrib.common.maskable.policies"}}


@pytest.fixture(scope="module")
def task() -> Task:
    own = misstep.load_task(misstep.generate("ferry", cars=2, locations=3, seed=0))
    assert isinstance(own, Task)
    return own


@pytest.fixture(scope="module")
def states(task: Task) -> States:
    return state_space(task).states()


@pytest.fixture
def file(task: Task, tmp_path: Path) -> Path:
    path = tmp_path / "agent.zip"
    sizes = [FlatFacts(task).size, 8, task.operator_count]
    path.write_bytes(archive(state_dict(actor(sizes)), MASKABLE))
    return path


def outputs(policy: Sb3Policy, states: States) -> np.ndarray:
    return policy.network.evaluate(policy.facts.rows(states).astype(np.float64))


def test_masked_agents_take_the_best_that_applies(task: Task, states: States, file: Path) -> None:
    policy = load_policy(f"sb3:{file}", task)
    assert isinstance(policy, Sb3Policy)
    assert policy.masked
    assert policy.chooses
    offsets, operators = task.applicable_batch(states)
    numbers = outputs(policy, states)
    expected = []
    for row in range(len(states)):
        own = operators[offsets[row] : offsets[row + 1]]
        expected.append(int(own[np.argmax(numbers[row, own])]))
    assert policy.decide(states).operators.tolist() == expected
    second = Candidates(np.arange(len(states) + 1, dtype=np.int64), operators[offsets[1:] - 1])
    assert policy.decide(states, second).operators.tolist() == second.operators.tolist()


def test_others_take_the_best_of_all(task: Task, states: States, file: Path) -> None:
    policy = load_policy(f"sb3:--mask=off {file}", task)
    assert isinstance(policy, Sb3Policy)
    assert not policy.chooses
    chosen = policy.decide(states).operators
    assert chosen.tolist() == outputs(policy, states).argmax(axis=1).tolist()
    masked = load_policy(f"sb3:--mask=on {file}", task)
    assert masked.digest != policy.digest
    assert masked.decide(states).operators.tolist() != chosen.tolist()
    found = misstep.test(task, f"sb3:--mask=off {file}", pool=20, seed=0)
    assert "inapplicable" in {record.run.outcome for record in found.records}


def test_the_activation_counts(task: Task, states: States, file: Path) -> None:
    tanh, relu = (load_policy(f"sb3:--activation={a} {file}", task) for a in ("tanh", "relu"))
    assert tanh.digest == load_policy(f"sb3:{file}", task).digest != relu.digest
    assert tanh.decide(states).operators.tolist() != relu.decide(states).operators.tolist()


@pytest.mark.usefixtures("without_torch")
def test_no_pytorch_is_needed(task: Task, file: Path) -> None:
    assert isinstance(load_policy(f"sb3:{file}", task), Sb3Policy)


def test_bad_specs(task: Task, file: Path) -> None:
    for spec, told in (("", "without a file"), ("--mask=maybe x", "--mask"), ("--x x", "--x")):
        with pytest.raises(UsageError, match=told):
            load_policy(f"sb3:{spec}", task)
    with pytest.raises(UsageError, match="--activation"):
        load_policy(f"sb3:--activation=mish {file}", task)
    other = misstep.load_task(misstep.generate("ferry", cars=3, locations=3, seed=0))
    with pytest.raises(UnsupportedError, match="13 inputs, and the task 19 facts"):
        load_policy(f"sb3:{file}", other)


def test_the_zoo_is_as_good_as_its_card_says(task: Task, states: States) -> None:
    """It goes in circles from 15 of the 45 states, and is optimal in all others."""
    policy = load_policy(f"sb3:{ZOO}", task)
    assert isinstance(policy, Sb3Policy)
    assert policy.masked
    graph = misstep._core.PolicyGraph(task)
    ids = graph.add(states)
    graph.decide(ids, policy.decide(states).operators)
    outcomes, _, costs = graph.ends(ids)
    names = [misstep._core.OUTCOMES[outcome] for outcome in outcomes]
    assert (names.count("goal"), names.count("loop")) == (30, 15)
    goal = np.array(names) == "goal"
    assert (costs[goal] == state_space(task).h_star[goal]).all()


def test_on_a_model(tmp_path: Path) -> None:
    own = jani_task(TINY_LINE)
    path = tmp_path / "agent.zip"
    sizes = [len(own.variable_names), 4, len(own.labels)]
    path.write_bytes(archive(state_dict(actor(sizes)), MASKABLE))
    policy = load_policy(f"sb3:{path}", own)
    assert policy.inapplicable == "filter"
    assert load_policy(f"sb3:--mask=off {path}", own).inapplicable == "error"
    assert misstep.test(own, f"sb3:{path}", seed=0).records is not None
    path.write_bytes(archive(state_dict(actor([9, 4, 2]))))
    with pytest.raises(InputFormatError, match="the network has 9 inputs"):
        load_policy(f"sb3:{path}", own)
    with pytest.raises(MisstepError, match="no such file"):
        load_policy("sb3:none.zip", own)


@pytest.mark.parametrize("algorithm", ["PPO", "DQN", "MaskablePPO"])
def test_decisions_are_those_of_the_original(
    task: Task, states: States, algorithm: str, tmp_path: Path
) -> None:
    reason = "Stable-Baselines3 is not installed"
    original = pytest.importorskip("stable_baselines3", reason=reason)
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    from misstep.tasks.gym import PlanningEnv

    kind = getattr(contrib if algorithm == "MaskablePPO" else original, algorithm)
    agent = kind("MlpPolicy", PlanningEnv(task), seed=3, policy_kwargs={"net_arch": [16, 16]})
    agent.save(tmp_path / "agent.zip")
    policy = load_policy(f"sb3:{tmp_path / 'agent.zip'}", task)
    assert isinstance(policy, Sb3Policy)
    options = {}
    if algorithm == "MaskablePPO":
        offsets, operators = task.applicable_batch(states)
        options["action_masks"] = np.zeros((len(states), task.operator_count), bool)
        rows = np.repeat(np.arange(len(states)), np.diff(offsets))
        options["action_masks"][rows, operators] = True
    expected, _ = agent.predict(policy.facts.rows(states), deterministic=True, **options)
    assert policy.decide(states).operators.tolist() == expected.tolist()
