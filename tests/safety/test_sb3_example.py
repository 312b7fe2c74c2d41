"""The example that makes a policy of Stable-Baselines3 testable."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.safety import System, fuzz, jani_transitions
from support.jani import TINY_LINE, task

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "policies" / "sb3_policy.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("sb3_policy", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Predictor:
    """Accelerates while it stands, else brakes, as a model of that package would say it."""

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return (observations[:, 1] > 0).astype(np.int64), None


class Reckless(Predictor):
    """Accelerates wherever it is."""

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return np.zeros(len(observations), np.int64), None


def test_an_object_with_predict_is_a_policy() -> None:
    own = task(TINY_LINE)
    policy = example().Sb3Policy(own, Predictor())
    states = [{"pos": 0, "vel": v, "crash": 0} for v in (0, 1)]
    assert policy.act_batch(states) == ["acc", "dec"]
    assert policy.act(states[1]) == "dec"
    assert policy.values(states[1]) == {"acc": 0.0, "dec": 1.0}


def test_the_example_works_with_states_by_number_and_by_name() -> None:
    own, made = task(TINY_LINE), example().Sb3Policy
    by_number = System(own, made(own, Predictor(), by_number=True))
    by_name = System(jani_transitions(own), made(own, Predictor()))
    assert fuzz(by_number).runs == ()  # this driver is careful
    assert fuzz(by_name).runs == ()
    assert fuzz(System(jani_transitions(own), made(own, Reckless()))).runs != ()


def test_a_model_file_without_its_algorithm_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.setenv("SB3_MODEL", "model.zip")
    with pytest.raises(ValueError, match=r"such as DQN:model\.zip"):
        example().Sb3Policy(task(TINY_LINE))
