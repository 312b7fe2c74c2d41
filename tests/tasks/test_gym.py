"""Planning tasks as Gymnasium environments, and the arrays that states become."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import misstep
from misstep.errors import UsageError
from misstep.tasks.observations import FlatFacts, ObjectAtoms
from misstep.tasks.task import State, Task


@pytest.fixture(scope="module")
def task() -> Task:
    own = misstep.load_task(misstep.generate("gripper", balls=2))
    assert isinstance(own, Task)
    return own


def test_flat_facts_are_values_of_variables_in_order(task: Task) -> None:
    facts = FlatFacts(task)
    row = facts.rows(np.array([task.initial_state.values], np.int32))[0]
    assert row.sum() == task.variable_count
    true = [facts.names[i].removeprefix("Atom ") for i in np.flatnonzero(row)]
    assert [name for name in true if not name.startswith(("Neg", "<"))] == task.facts(
        task.initial_state
    )
    assert facts.names == [name for names in task.fact_names for name in names]


def test_objects_are_rows_of_atoms(task: Task) -> None:
    view = ObjectAtoms(task)
    rows = view.atoms(np.array(task.initial_state.values, np.int32))
    assert rows.shape == (view.rows, 1 + view.arity)
    texts = set()
    for row in rows[rows[:, 0] >= 0].tolist():
        terms = [view.objects[term] for term in row[1:] if term >= 0]
        texts.add(f"{view.predicates[row[0]]}({', '.join(terms)})")
    assert texts >= set(task.facts(task.initial_state))
    assert len(view.goals) == len(task.lifted.goal)
    assert len(view.type_of) == len(task.lifted.objects)


def environments() -> None:
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed")


def test_made_by_an_id_that_imports_the_module(task: Task) -> None:
    environments()
    import gymnasium

    from misstep.gym import IDS
    from misstep.tasks.gym import ID

    assert ID in IDS
    env = gymnasium.make(f"misstep.gym:{ID}", task=task)
    assert env.reset(seed=0)[0].shape == env.observation_space.shape


@pytest.mark.parametrize("observation", ["flat", "objects"])
def test_gymnasium_has_no_complaint(task: Task, observation: str) -> None:
    environments()
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    from misstep.tasks.gym import ID

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, task=task, observation=observation, walk=4, horizon=20)
        check_env(env.unwrapped)


def test_an_episode(task: Task) -> None:
    environments()
    from misstep.policies.load import load_policy
    from misstep.tasks.gym import make_env

    env = make_env(task, goal_reward=10, cost_weight=0.5, render_mode="ansi")
    optimal = load_policy("optimal", task)
    observation, info = env.reset(seed=1)
    total, ended, steps = 0.0, False, 0
    while not ended:
        assert env.state is not None
        operator = optimal.decide(np.array([env.state.values], np.int32)).operators[0]
        assert info["action_mask"][operator] == 1
        observation, reward, ended, truncated, info = env.step(operator)
        assert env.observation_space.contains(observation)
        assert not truncated
        total += reward
        steps += 1
    assert info["end"] == "goal"
    assert total == pytest.approx(10 - 0.5 * steps)
    assert "at" in str(env.render())


def test_what_does_not_apply_changes_nothing(task: Task) -> None:
    environments()
    from misstep.tasks.gym import make_env

    env = make_env(task, horizon=2)
    env.reset(seed=0)
    wrong = int(np.flatnonzero(~env.action_masks())[0])
    before = env.state
    _, reward, ended, truncated, info = env.step(wrong)
    assert (reward, ended, truncated, info["applicable"]) == (-0.1, False, False, False)
    assert env.state == before
    assert env.step(wrong)[3]
    with pytest.raises(UsageError, match="no operator 9999"):
        env.step(9999)


def test_seeds_and_starts(task: Task) -> None:
    environments()
    from misstep.tasks.gym import make_env

    env = make_env(task, walk=20)
    starts = [(env.reset(seed=seed), env.state)[1] for seed in range(8)]
    assert starts == [(env.reset(seed=seed), env.state)[1] for seed in range(8)]
    assert len(set(starts)) > 2
    chosen = task.apply(
        task.initial_state,
        int(task.applicable_batch(np.array([task.initial_state.values], np.int32))[1][0]),
    )
    env.reset(options={"state": chosen})
    assert env.state == chosen
    env.reset(options={"state": ", ".join(task.facts(chosen))})
    assert env.state == chosen


def test_wrong_arguments(task: Task) -> None:
    environments()
    from misstep.tasks.gym import PlanningEnv

    for options in ({"observation": "graph"}, {"horizon": 0}, {"walk": -1}):
        with pytest.raises(UsageError):
            PlanningEnv(task, **options)
    with pytest.raises(UsageError, match="not a planning task"):
        PlanningEnv("task")  # type: ignore[arg-type] # what users do
    with pytest.raises(UsageError, match="call reset first"):
        PlanningEnv(task).step(0)


@pytest.mark.parametrize("action", [0.9, "1", None, np.nan, True, [0, 1], np.array([]), 10**30, -1])
def test_actions_that_are_no_number_of_an_operator(task: Task, action: Any) -> None:
    environments()
    from misstep.tasks.gym import make_env

    env = make_env(task)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="no operator"):
        env.step(action)
    env.step(np.array([0]))  # as some learners have it


def test_a_step_that_changes_nothing_reaches_no_goal(task: Task) -> None:
    """Neither after the end of an episode nor where one begins in a goal."""
    environments()
    from misstep.tasks.gym import make_env

    env = make_env(task)
    _, info = env.reset(seed=0)
    random = np.random.default_rng(0)
    while not (env.state is not None and task.is_goal(env.state)):
        _, reward, _, _, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
    assert reward > 0.9
    wrong = int(np.flatnonzero(~env.action_masks())[0])
    assert env.step(wrong)[1:3] == (-0.1, True)


def test_states_of_other_tasks(task: Task) -> None:
    environments()
    from misstep.tasks.gym import make_env

    env = make_env(task)
    own = list(task.initial_state.values)
    sizes = [len(names) for names in task.fact_names]
    for state in (State(own[:-1]), State([*own, 0]), State([sizes[0], *own[1:]]), tuple(own)):
        with pytest.raises(UsageError, match="no state of the task"):
            env.reset(options={"state": state})
