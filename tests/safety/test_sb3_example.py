"""The example that makes a policy of Stable-Baselines3 testable."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.safety import System, fuzz
from misstep.tasks.jani.task import JaniTask
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


class OnTuples:
    """States as the task has them, labels by number."""

    def __init__(self, own: JaniTask, policy: Any) -> None:
        self.task, self.policy = own, policy

    def _dict(self, state: Any) -> dict[str, Any]:
        return dict(zip(self.task.variable_names, state, strict=True))

    def act(self, state: Any) -> int:
        return self.task.label_id(self.policy.act(self._dict(state)))

    def act_batch(self, states: list[Any]) -> list[int]:
        labels = self.policy.act_batch([self._dict(state) for state in states])
        return [self.task.label_id(label) for label in labels]

    def values(self, state: Any) -> dict[int, float]:
        values = self.policy.values(self._dict(state))
        return {self.task.label_id(label): value for label, value in values.items()}


def test_an_object_with_predict() -> None:
    own = task(TINY_LINE)
    policy = example().Sb3Policy(own, Predictor())
    states = [{"pos": 0, "vel": v, "crash": 0} for v in (0, 1)]
    assert policy.act_batch(states) == ["acc", "dec"]
    assert policy.act(states[1]) == "dec"
    assert policy.values(states[1]) == {"acc": 0.0, "dec": 1.0}
    report = fuzz(System(own, OnTuples(own, policy)))
    assert report.runs == ()  # this driver is careful


def test_a_model_that_was_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.setenv("SB3_MODEL", "model.zip")
    with pytest.raises(ValueError, match=r"such as DQN:model\.zip"):
        example().Sb3Policy(task(TINY_LINE))
