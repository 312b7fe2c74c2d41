"""Commands that count or prove outside of campaigns ask a policy again before they say anything about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.cli.census import _exit_code
from misstep.errors import FlakyPolicyError, TimeLimitError
from misstep.faults.census import PolicyCensus, census, counted
from misstep.oracles.prove import ReachSettings, prove_reaches
from misstep.policies.load import load_policy
from misstep.safety.risk import RiskSettings, risk
from support.campaigns import small_model
from support.tasks import small_task

POLICIES = """
import os, random, time

def names(state):
    return state.actions if hasattr(state, "actions") else state.labels

def steady(state):
    return names(state)[0]

def drawn(state):
    return random.choice(names(state))

def hashed(state):
    return names(state)[hash(str(state)) % len(names(state))]

class Declared:
    deterministic = False
    def act(self, state):
        return names(state)[0]

asked = []
def mute_at_first(state):
    asked.append(state)
    return None if len(asked) == 1 else names(state)[0]

def crashes(state):
    raise ValueError("never")

def sleeps(state):
    time.sleep(60)

def slow(state):
    time.sleep(0.05)
    return names(state)[0]

if os.environ.get("PYTHONHASHSEED") in ("1", "2") and os.environ.get("HANGS"):
    time.sleep(60)  # in the process that asks again
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "policies.py").write_text(POLICIES)
    return tmp_path / "policies.py"


@pytest.mark.parametrize("name", ["drawn", "hashed", "Declared"])
def test_nothing_is_counted_of_a_policy_that_is_no_function(file: Path, name: str) -> None:
    model, policy = small_model("one-way-line"), f"python:{file}:{name}"
    with pytest.raises(FlakyPolicyError):
        census(small_task("gripper-4"), policy)
    with pytest.raises(FlakyPolicyError):
        census(model, policy)
    with pytest.raises(FlakyPolicyError):
        risk(model, load_policy(policy, model))


def test_a_function_is_counted(file: Path) -> None:
    model, policy = small_model("one-way-line"), f"python:{file}:steady"
    of_task, of_model = census(small_task("gripper-4"), policy), census(model, policy)
    assert of_task == census(small_task("gripper-4"), "first")
    assert of_model == census(model, "first")
    assert risk(model, load_policy(policy, model)) == risk(model, load_policy("first", model))


@pytest.mark.parametrize(
    ("policy", "field", "code"),
    [("python:{}:crashes", "errors", 11), ("python:--timeout=0.2 {}:sleeps", "timeouts", 12)],
)
def test_what_the_policy_does_not_answer_is_no_bug(
    file: Path, policy: str, field: str, code: int
) -> None:
    found = census(small_task("gripper-4"), policy.format(file))
    assert isinstance(found, PolicyCensus)
    assert (found.bugs, found.optimal, found.faults) == (0, 0, 0)
    assert getattr(found, field) == found.states
    assert _exit_code(*counted("gripper", policy, found)) == code


def test_a_proof_asks_again_where_the_policy_stops(file: Path) -> None:
    task = small_task("gripper-4")
    proof = prove_reaches(
        task, load_policy(f"python:{file}:mute_at_first", task), ReachSettings("runs")
    )
    assert proof.verdict == "FLAKY"


def test_limits_of_time_hold_while_the_policy_is_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, model, slow = small_task("gripper-4"), small_model("one-way-line"), f"python:{file}:slow"
    with pytest.raises(TimeLimitError, match=r"the limit was 0\.3 seconds"):
        census(task, slow, time_limit=0.3)
    assert prove_reaches(task, load_policy(slow, task), ReachSettings(time_limit=0.3)).end == "time"
    monkeypatch.setenv("HANGS", "1")
    steady = f"python:{file}:steady"
    for place in (task, model):
        with pytest.raises(TimeLimitError, match="asks the policy again did not end"):
            census(place, steady, time_limit=1.5)
    report = risk(model, load_policy(steady, model), RiskSettings(time_limit=1.5))
    assert any("limit of time" in text for text in report.remarks)
