"""Arrays of other types, in and out: those that do not fit are refused and never converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.policies.conformance import check_policy
from misstep.policies.load import load_policy
from misstep.policies.noisy import NoisyPolicy
from misstep.policies.policy import FAILED, Answers, Candidates, Policy, States
from misstep.runs.runner import PolicyRunner, ask
from misstep.runs.single import run_once
from misstep.tasks.task import Task
from support.tasks import generated_task

WRAP = 2**32  # what a cast to 32 bits forgets


@pytest.fixture(scope="module")
def task() -> Task:
    return generated_task("gripper", balls=2)


@pytest.fixture
def batch(task: Task) -> Any:
    return np.array([task.initial_state.values] * 2)


@pytest.fixture(params=["first", "heuristic:ff", "shipped:gripper", "noisy:0.5+first", "python"])
def policy(request: pytest.FixtureRequest, task: Task, tmp_path: Path) -> Policy:
    if request.param != "python":
        return load_policy(request.param, task)
    (tmp_path / "own.py").write_text("def own(state):\n    return state.operators[0]\n")
    return load_policy(f"python:{tmp_path / 'own.py'}:own", task)


def test_states_that_fit(policy: Policy, batch: Any) -> None:
    expected = policy.decide(batch.astype(np.int32)).operators
    for same in (batch, batch.astype(np.uint8), np.asfortranarray(batch), batch.tolist()):
        assert np.array_equal(policy.decide(same).operators, expected)


def test_states_that_do_not_fit(policy: Policy, batch: Any) -> None:
    far = batch.copy()
    far[1, 2] += WRAP
    with pytest.raises(UsageError, match=f"row 1: variable 2 has no value {far[1, 2]}"):
        policy.decide(far)
    for wrong in (batch + 0.7, batch.astype(object), batch.astype(str), batch[0]):
        with pytest.raises(UsageError, match="expected rows of 5 whole numbers"):
            policy.decide(wrong)
    with pytest.raises(UsageError, match="has no value"):
        PolicyRunner(policy).run(far)
    if policy.valued:
        with pytest.raises(UsageError, match="has no value"):
            policy.values(far)


class Fixed(Policy):
    """Gives an array of any kind, an entry a state."""

    chooses = True

    def __init__(self, task: Task, answer: Any) -> None:
        super().__init__(task)
        self.answer = answer

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        del candidates
        return Answers(np.repeat(np.array([self.answer]), len(states)))


@pytest.mark.parametrize(
    "change", [lambda op: op + WRAP, lambda op: op + 0.7, str, lambda op: op > 0]
)
def test_answers_that_do_not_fit(task: Task, batch: Any, change: Any) -> None:
    """Each of these becomes an applicable operator when it is cast."""
    operator = task.applicable(task.initial_state)[0]
    given = Fixed(task, change(operator))
    for policy in (given, NoisyPolicy(given, 0.0, seed=1)):
        answers = ask(policy, batch.astype(np.int32))
        assert answers.operators.tolist() == [FAILED, FAILED]
        assert "expected int32" in answers.messages[0]
        own = Candidates(np.array([0, 1, 2]), np.full(2, operator, np.int32))
        assert "expected int32" in ask(policy, batch.astype(np.int32), own).messages[1]
    for revisit in ("stop", "avoid"):
        assert run_once(given, task.initial_state, revisit=revisit).outcome == "error"
    _, findings = check_policy(lambda: given, states=3)
    assert [finding.rule for finding in findings] == ["one operator a state"]
