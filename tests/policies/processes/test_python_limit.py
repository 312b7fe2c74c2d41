"""Python policies with a time limit: the same answers from a process of their own, and the end of those that hang."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, PolicyCrashError, ToolError
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.options import with_timeout
from misstep.policies.policy import FAILED, TIMED_OUT, Candidates, Policy
from misstep.policies.process.patience import RECOVERY, TIMEOUTS, Patience
from misstep.safety import System, jani_transitions
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task
from support import jani
from support.tasks import rows, walk

SOURCE = """
import os, sys, time, ctypes

def first(state):
    print("noise"); os.write(1, b"noise\\n")
    return state.actions[0]

class Batched:
    deterministic = False
    def act_batch(self, states): return [state.actions[0].number for state in states]
    def values(self, state): return {action.name: action.number for action in state.actions}

class Sets:
    def permitted(self, state): return state.actions

class Draws:
    def probabilities(self, state): return {state.actions[0]: 0.5, state.actions[-1]: 0.5}

class Plans:
    def plan(self, state): return [state.actions[0]]

def crashes(state): return {}["a"]
def hangs(state): time.sleep(600)
def stops(state): os.kill(os.getpid(), 15); time.sleep(60)
def ends(state): ctypes.CDLL(None)._exit(0)
def hashes(state): return hash("x") % len(state.actions)

class Once:
    def __init__(self): self.count = 0
    def act(self, state):
        self.count += 1
        return time.sleep(600) if self.count > 1 else state.actions[0]

class Broken:
    def __init__(self, task): raise OSError("no weights")

def reads(state):
    os.environ.get("MINE_LATE")
    return state.actions[0]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


@pytest.fixture
def model() -> JaniTask:
    return jani.task(jani.TINY_LINE)


def load(task: Any, file: Path, name: str, timeout: float = 30) -> Any:
    return load_policy(f"python:--timeout={timeout:g} {file}:{name}", task)


def labels(model: JaniTask, own: LabelPolicy) -> list[str]:
    system = System(jani_transitions(model), own.policy, inapplicable=own.inapplicable)
    try:
        found = [system.native.decision(system.id(s)) for s in ((0, 0, 0), (0, 1, 0))]
    finally:
        own.close()
    return [str(system.label(label)) for label in found if label is not None]


def test_the_same_answers(task: Task, file: Path) -> None:
    states = rows(walk(task, 8, seed=1))
    expected = load_policy("first", task).decide(states).operators.tolist()
    digests = set()
    for name in ("first", "Batched", "reads"):
        own = load(task, file, name)
        here = load_policy(f"python:{file}:{name}", task)
        try:
            answers = own.decide(states)
            assert answers.operators.tolist() == expected
            assert answers.messages == {}
            assert (own.digest, own.files) == (here.digest, here.files)
            assert own.deterministic == (name != "Batched")
            digests.add(own.digest)
        finally:
            own.close()
    assert len(digests) == 3


def test_flags_sets_and_plans(task: Task, file: Path) -> None:
    states = rows(walk(task, 4, seed=1))
    for name in ("Sets", "Draws", "Plans", "Batched"):
        here: Policy = load_policy(f"python:{file}:{name}", task)
        own: Policy = load(task, file, name)
        try:
            for flag in ("set_valued", "stochastic", "plans", "chooses"):
                assert getattr(own, flag) == getattr(here, flag)
            if own.set_valued:
                ours, weights = own.probabilities(states)
                theirs, expected = here.probabilities(states)
                assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]
                assert weights.tolist() == expected.tolist()
                assert own.permitted(states).operators.tolist() == ours.operators.tolist()
            if own.plans:
                assert own.plan(task.initial_state) == here.plan(task.initial_state)
            if own.chooses:
                among = own.all_candidates(states)
                last = Candidates(among.offsets, among.operators)
                assert (
                    own.decide(states, last).operators.tolist()
                    == here.decide(states, last).operators.tolist()
                )
        finally:
            own.close()


def test_crashes_are_told_as_in_this_process(task: Task, file: Path) -> None:
    states = rows([task.initial_state])
    own = load(task, file, "crashes")
    here = load_policy(f"python:{file}:crashes", task).decide(states)
    try:
        answers = own.decide(states)
        assert answers.messages == here.messages == {0: f"mine.py:{line('crashes')}: KeyError: 'a'"}
        assert answers.operators.tolist() == [FAILED]
    finally:
        own.close()
    with pytest.raises(
        InputFormatError, match=r"Broken\(task\) raises OSError: no weights"
    ) as told:
        load(task, file, "Broken")
    with pytest.raises(InputFormatError) as expected:
        load_policy(f"python:{file}:Broken", task)
    assert str(told.value) == str(expected.value)


def line(name: str) -> int:
    return 1 + next(i for i, text in enumerate(SOURCE.split("\n")) if f"def {name}(" in text)


@pytest.mark.parametrize("name", ["hangs", "Once"])
def test_a_policy_that_hangs_is_given_up(task: Task, file: Path, name: str) -> None:
    states = rows(walk(task, 40, seed=1))
    own = load(task, file, name, timeout=0.2)
    try:
        answers = own.decide(states)
    finally:
        own.close()
    late = answers.operators == TIMED_OUT
    answered = TIMEOUTS if name == "Once" else 0  # each new process answers once
    assert late.sum() == len(states) - answered
    texts = [answers.messages[row] for row in np.flatnonzero(late).tolist()]
    assert texts[:TIMEOUTS] == ["no answer within 0.2 s"] * TIMEOUTS
    assert all(text.startswith("the program was given up: 3 times it did") for text in texts[3:])


def test_a_policy_that_asks_its_process_to_end_crashes(
    task: Task, model: JaniTask, file: Path
) -> None:
    """As in this process: each state is asked about, and nothing is given up."""
    policy = load(task, file, "stops")
    answers = policy.decide(rows(walk(task, 8, seed=1)))
    assert set(answers.operators.tolist()) == {FAILED}
    assert all("KeyboardInterrupt" in text for text in answers.messages.values())
    policy.close()
    policy = load(model, file, "stops")
    with pytest.raises(PolicyCrashError, match="KeyboardInterrupt"):
        labels(model, policy)
    policy.close()


def test_native_code_that_ends_the_process(task: Task, file: Path) -> None:
    own = load(task, file, "ends")
    try:
        answers = own.decide(rows(walk(task, 9, seed=1)))
    finally:
        own.close()
    assert "ended with exit code 0" in answers.messages[0]
    assert answers.operators[0] == FAILED
    assert answers.operators[-1] == TIMED_OUT  # it was not asked any more
    assert "given up" in answers.messages[9]


def test_the_order_of_hashes_is_the_same_in_every_process(task: Task, file: Path) -> None:
    states = rows([task.initial_state])
    found = set()
    for _ in range(3):
        own = load(task, file, "hashes")
        found.add(int(own.decide(states).operators[0]))
        own.close()
    assert len(found) == 1


def test_models(model: JaniTask, file: Path) -> None:
    for name in ("first", "Batched"):
        here = load_policy(f"python:{file}:{name}", model)
        own = load(model, file, name)
        assert (own.digest, own.deterministic) == (here.digest, here.deterministic)
        assert labels(model, own) == labels(model, here) == ["acc", "acc"]
    sets = load(model, file, "Draws")
    state = model.engine.intern((0, 1, 0))
    assert sets.weights(state) == {0: 0.5, 1: 0.5}
    assert (sets.set_valued, sets.stochastic) == (True, True)
    sets.close()


def test_models_whose_policy_does_wrong(model: JaniTask, file: Path) -> None:
    with pytest.raises(ToolError, match=r"the policy raises mine.py:\d+: KeyError: 'a'"):
        labels(model, load(model, file, "crashes"))
    with pytest.raises(InputFormatError, match="no weights"):
        load(model, file, "Broken")
    with pytest.raises(ToolError, match=r"no answer within 0.2 s"):
        labels(model, load(model, file, "hangs", timeout=0.2))


def test_a_program_of_a_model_is_given_up(model: JaniTask, file: Path) -> None:
    own = load(model, file, "hangs", timeout=0.1)
    system = System(jani_transitions(model), own.policy)
    state = system.id((0, 0, 0))
    messages = []
    for _ in range(5):
        with pytest.raises(ToolError) as caught:
            system.native.decision(state)
        messages.append(str(caught.value))
    own.close()
    assert ["given up" in text for text in messages] == [False] * 3 + [True] * 2


def test_environment_variables_of_the_other_process(task: Task, file: Path) -> None:
    own = load(task, file, "reads")
    try:
        own.decide(rows([task.initial_state]))
        assert own.environment == {"MINE_LATE": os.environ.get("MINE_LATE")}
    finally:
        own.close()


# -- patience and options -------------------------------------------------------------------------


def test_patience() -> None:
    lost = Patience()
    for _ in range(TIMEOUTS):
        assert not lost.lost
        lost.timed_out(1)
        lost.answered()
    assert lost.lost
    recovers = Patience()
    for _ in range(5 * TIMEOUTS):
        for _ in range(RECOVERY):
            recovers.answered()
        recovers.timed_out(1)
        assert not recovers.lost
    slow = Patience()
    slow.answered()
    for _ in range(5 * TIMEOUTS):  # large batches, which are asked again in smaller ones
        slow.timed_out(64)
    assert not slow.lost


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("python:a.py:f", "python:--timeout=2.5 a.py:f"),
        ("exec:--memory-limit=9 ./a b", "exec:--timeout=2.5 --memory-limit=9 ./a b"),
        ("noisy:0.1:7+python:a.py:f", "noisy:0.1:7+python:--timeout=2.5 a.py:f"),
        ("program:a+b.py", "program:--timeout=2.5 a+b.py"),
    ],
)
def test_a_limit_for_a_spec(spec: str, expected: str) -> None:
    assert with_timeout(spec, 2.5) == expected
    assert with_timeout(spec, None) == spec


@pytest.mark.parametrize("spec", ["first", "asnet:a", "exec", "python:--timeout=1 a.py:f", None])
def test_specs_that_take_no_limit(spec: str | None) -> None:
    with pytest.raises(MisstepError, match=r"--timeout|given twice"):
        with_timeout(spec, 2.5)
