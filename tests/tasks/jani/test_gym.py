"""Models as Gymnasium environments."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.tasks.jani.episodes import Rewards
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from support.jani import TINY_LINE, task, write

gymnasium = pytest.importorskip("gymnasium")
from misstep.tasks.jani.gym import ID, JaniEnv, make_env  # noqa: E402


def generated(folder: Path, name: str, **options: Any) -> JaniTask:
    return load_jani(write(generate_model(name, **options).text, folder=folder))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("one-way-line", {"cells": 4, "packages": 2, "drop": True}),
        ("blocksworld-cost", {"blocks": 3, "limit": 2}),
        ("bouncing-ball", {"horizon": 30}),
    ],
)
def test_gymnasium_has_no_complaint(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write(generate_model(name, **options).text, folder=tmp_path)
        check_env(gymnasium.make(ID, model=path, horizon=20).unwrapped)


def test_registered(tmp_path: Path) -> None:
    import pickle

    env = gymnasium.make(ID, model=write(TINY_LINE, folder=tmp_path), horizon=5)
    assert isinstance(env.unwrapped, JaniEnv)
    assert env.action_space.n == 2
    assert env.observation_space.low.tolist() == [0, 0, 0]
    assert env.observation_space.high.tolist() == [2, 2, 1]
    again = pickle.loads(pickle.dumps(env.spec))
    assert again.id == ID


def test_steps_follow_the_model() -> None:
    own = task(TINY_LINE)
    env = make_env(own, horizon=6, rewards=Rewards(step=-2), uniform_outcomes=True)
    ends = set()
    observation, info = env.reset(seed=3)
    random = np.random.default_rng(0)
    for _ in range(400):
        before = env.values
        assert observation.tolist() == list(before)
        assert np.flatnonzero(info["action_mask"]).tolist() == own.applicable(before)
        label = int(random.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = env.step(label)
        assert env.values in own.outcomes(before, label)
        expected = (
            "unsafe" if own.is_unsafe(env.values) else "goal" if own.is_goal(env.values) else ""
        )
        assert info["end"] == expected
        assert info["applicable"]
        assert terminated == (expected != "")
        assert truncated == (not terminated and env.steps == 6)
        assert reward == {"unsafe": -100, "goal": 100, "": -2}[expected]
        ends.add(info["end"] if terminated else "cut" if truncated else "")
        if terminated or truncated:
            observation, info = env.reset()
    assert ends == {"", "goal", "unsafe", "cut"}


@pytest.mark.parametrize(("uniform", "low", "high"), [(False, 20, 60), (True, 160, 240)])
def test_outcomes_by_probability_or_evenly(uniform: bool, low: int, high: int) -> None:
    """The first step stays slow with probability 0.1."""
    env = make_env(task(TINY_LINE), uniform_outcomes=uniform)
    env.reset(seed=1)
    slow = 0
    for _ in range(400):
        env.reset()
        env.step(0)
        slow += env.values == (0, 0, 0)
    assert low < slow < high


def test_seeds_repeat(tmp_path: Path) -> None:
    env = make_env(generated(tmp_path, "one-way-line", cells=6, packages=2, drop=True))

    def play(seed: int | None) -> list[Any]:
        seen = [tuple(env.reset(seed=seed)[0])]
        for _ in range(30):
            observation, *_, done, _cut, info = env.step(int(np.argmax(env.action_masks())))
            seen.append(tuple(observation))
            if done:
                assert info["end"]
                break
        return seen

    first, second = play(7), play(None)
    assert play(7) == first
    assert play(None) == second
    assert len({tuple(play(seed)) for seed in range(8)}) > 1


def test_labels_that_do_not_apply() -> None:
    own = task(TINY_LINE)
    env = make_env(own, inapplicable_reward=-7.0)
    env.reset(seed=0, options={"state": "pos=1, vel=0, crash=0"})
    assert env.values == (1, 0, 0)
    assert env.action_masks().tolist() == [True, False]
    observation, reward, terminated, truncated, info = env.step(1)
    assert observation.tolist() == [1, 0, 0]
    assert (reward, terminated, truncated, info["applicable"]) == (-7.0, False, False, False)
    strict = make_env(own, inapplicable="error")
    strict.reset(seed=0, options={"state": (1, 0, 0)})
    with pytest.raises(UsageError, match="dec is not applicable"):
        strict.step(1)
    with pytest.raises(UsageError, match="no label 2"):
        strict.step(2)
    with pytest.raises(UsageError, match=r"no label 0\.9"):
        strict.step(0.9)


def test_what_is_refused() -> None:
    own = task(TINY_LINE)
    with pytest.raises(UsageError, match="reset"):
        make_env(own).step(0)
    early = make_env(own, render_mode="ansi")
    for use in (early.render, early.action_masks, lambda: early.values):
        with pytest.raises(UsageError, match="reset"):
            use()
    with pytest.raises(UsageError, match="horizon"):
        make_env(own, horizon=0)
    with pytest.raises(UsageError, match="inapplicable"):
        make_env(own, inapplicable="ignore")
    with pytest.raises(UsageError, match="already"):
        make_env(own, property="safety")


def test_rendered_as_text() -> None:
    env = make_env(task(TINY_LINE), render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "pos=0, vel=0, crash=0"


@pytest.mark.parametrize("name", ["tiny", "one-way-line"])
def test_safety_against_ground_truth(name: str, tmp_path: Path) -> None:
    """What the environment says of every state and label is what an exhaustive decider says."""
    from misstep.safety import Decider, System, jani_transitions

    own = task(TINY_LINE) if name == "tiny" else generated(tmp_path, name, cells=4, packages=1)
    reference = Decider(System(jani_transitions(own), "first"), "vi")
    env = make_env(own)
    space = own.space()
    seen = set()
    for number in range(len(space)):
        state = space.state(number)
        env.reset(options={"state": state})
        assert env.is_safe() == reference.decide(state).is_safe
        assert env.distance_to_unsafe() == own.distance(state)
        if name == "tiny":  # other models measure a condition of their own
            assert (env.distance_to_unsafe() == 0) == own.is_unsafe(state)
        safe = []
        for label in range(len(own.labels)):
            outcomes = own.outcomes(state, label)
            expected = bool(outcomes) and all(reference.decide(s).is_safe for s in outcomes)
            assert env.next_state_safety(label) == expected
            safe += [label] if expected else []
        assert np.flatnonzero(env.safe_actions()).tolist() == safe
        assert (env.safe_action() in safe) if safe else env.safe_action() is None
        seen.add(len(safe))
    assert seen >= ({0, 1} if name == "tiny" else {0, 1, 2})


def test_a_mask_of_safe_labels_never_forbids_all() -> None:
    own = task(TINY_LINE)
    env = make_env(own, mask="safe")
    plain = make_env(own)
    for number in range(len(own.space())):
        state = own.space().state(number)
        env.reset(options={"state": state})
        plain.reset(options={"state": state})
        safe = env.safe_actions()
        expected = safe if safe.any() else plain.action_masks()
        assert env.action_masks().tolist() == expected.tolist()
    # Whoever follows the mask from a safe start stays safe.
    observation, info = env.reset(seed=1)
    random = np.random.default_rng(0)
    for _ in range(300):
        if env.is_safe():
            label = int(random.choice(np.flatnonzero(info["action_mask"])))
            _, _, terminated, truncated, info = env.step(label)
            assert info["end"] != "unsafe"
            if not (terminated or truncated):
                continue
        observation, info = env.reset()
    assert len(observation) == 3


def test_safety_in_the_info_of_each_step() -> None:
    own = task(TINY_LINE)
    env = make_env(own, safety=True, uniform_outcomes=True)
    plain = make_env(own)
    _, info = env.reset(seed=2)
    assert "next_state_safety" not in plain.reset(seed=2)[1]
    random = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        assert info["next_state_safety"] == env.is_safe()
        assert info["distance_to_unsafe"] == own.distance(env.values)
        action = info["next_safe_action"]
        assert action == -1 or env.next_state_safety(action)
        seen.add((info["next_state_safety"], action == -1))
        _, _, terminated, truncated, info = env.step(int(random.integers(2)))
        if terminated or truncated:
            _, info = env.reset()
    assert {(True, False), (False, True)} <= seen


def test_safety_needs_an_episode_and_a_label() -> None:
    env = make_env(task(TINY_LINE))
    for ask in (env.is_safe, env.safe_action, env.safe_actions, env.distance_to_unsafe):
        with pytest.raises(UsageError, match="there is no episode yet"):
            ask()
    env.reset(seed=0)
    with pytest.raises(UsageError, match="there is no label 7"):
        env.next_state_safety(7)
    with pytest.raises(UsageError, match="mask='none'; expected 'applicable' or 'safe'"):
        make_env(task(TINY_LINE), mask="none")


def test_an_answer_that_a_budget_leaves_open_is_none() -> None:
    from misstep.safety.decider import Budget
    from misstep.safety.lookahead import Lookahead

    own = task(TINY_LINE)
    engine = own.new_engine()
    state = engine.intern(own.parse_state("pos=0, vel=0, crash=0"))
    asked = Lookahead(own, engine, Budget(evaluations=0))
    assert asked.is_safe(state) is None
    assert {asked.label_is_safe(state, label) for label in engine.applicable(state)} == {None}
    assert asked.safe_label(state) is None
    assert Lookahead(own, engine).is_safe(state) is True


@pytest.mark.parametrize(
    ("imports", "id"),
    [
        ("import gymnasium", "misstep.gym:misstep/Jani-v0"),
        ("import gymnasium, misstep", "misstep/Jani-v0"),
        ("import misstep, gymnasium", "misstep.gym:misstep/Jani-v0"),
    ],
)
def test_made_without_an_import_of_the_module(tmp_path: Path, imports: str, id: str) -> None:
    import subprocess
    import sys

    model = write(TINY_LINE, folder=tmp_path)
    code = (
        f"{imports}\nenv = gymnasium.make({id!r}, model={str(model)!r})\n"
        "assert env.reset(seed=1)[0].shape == (3,)\n"
        "import sys; assert 'misstep/Planning-v0' in gymnasium.registry\n"
        "assert 'misstep.tasks.gym' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
