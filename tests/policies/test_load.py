"""Specs of policies, good and bad, and the conformance kit."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from misstep.checking import parse_sas, read_plan, validate_plan
from misstep.errors import InputFileError, InputFormatError, MisstepError, UsageError
from misstep.planning import plan
from misstep.policies.conformance import check_policy
from misstep.policies.function import StateView, policy
from misstep.policies.load import BUILTIN, load_policy
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.runs.single import run_once
from misstep.tasks.task import Task
from support.policies import Misbehaving
from support.tasks import rows, small_task, walk

GOOD = """
from misstep.policies.function import policy

def first(state):
    return state.operators[0]

def last_id(state):
    return state.task.applicable(state.state)[-1]

@policy
def decorated(state):
    return None

class Planner:
    def __init__(self, task):
        self.task = task
    def __call__(self, state):
        return "(" + state.operators[0].upper() + ")"

number = 3
"""


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    return file


def test_python_policies(user_file: Path) -> None:
    task = small_task("gripper-4")
    states = rows(walk(task, 30, seed=2))
    lowest = load_policy("first", task).decide(states).operators.tolist()
    for name in ("first", "Planner"):
        mine = load_policy(f"python:{user_file}:{name}", task)
        assert mine.decide(states).operators.tolist() == lowest
    assert (
        load_policy(f"python:{user_file}:decorated", task).decide(states).operators.tolist()
        == [-1] * 31
    )
    assert load_policy(f"python:{user_file}:last_id", task).digest != mine.digest


def test_the_decorator_makes_a_policy_in_one_line() -> None:
    @policy
    def greedy(state: StateView) -> str | None:
        return min(state.operators, key=lambda name: len(state.after(name).facts), default=None)

    task = small_task("visitall-3x3")
    trace = run_once(greedy(task), task.initial_state)
    assert trace.policy_calls == len(trace.operators)


def test_a_plan_is_a_policy(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    found = plan(task)
    file = tmp_path / "plan"
    file.write_text("; a plan\n" + found.text.upper())
    trace = run_once(load_policy(f"plan:{file}", task), task.initial_state)
    assert (trace.outcome, trace.cost) == ("goal", found.cost)
    off_plan = next(s for s in walk(task, 50, seed=1) if s not in trace.states)
    assert run_once(load_policy(f"plan:{file}", task), off_plan).outcome == "stuck"
    lines = found.text.splitlines()
    file.write_text("\n".join([lines[1], *lines]))
    with pytest.raises(InputFormatError, match=rf"{file}:1: this is not a plan"):
        load_policy(f"plan:{file}", task)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nonsense", "no policy kind 'nonsense'"),
        ("heuristc:ff", "did you mean heuristic?"),
        ("heuristic:hff", "no heuristic 'hff'; expected ff, add, max, lmcut"),
        ("random:x", "the seed is 'x'"),
        ("first:1", "takes no argument"),
        ("noisy:2:1+first", "the probability is '2'"),
        ("noisy:0.5:1", "the inner policy is missing"),
        ("noisy:0.5:-1+first", "the seed is '-1'"),
        ("noisy:0.1:1+bogus", "no policy kind 'bogus'"),
        ("plan:/nowhere", "no such file"),
        ("python:/nowhere.py:f", "no such file"),
        ("python:f", "expected python:FILE.py:NAME"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(MisstepError) as caught:
        load_policy(spec, small_task("gripper-4"))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("def f(:\n", "f", "mine.py:1: the file cannot be run: SyntaxError"),
        ("x = 1\n1 / 0\n", "f", "mine.py:2: the file cannot be run: ZeroDivisionError"),
        (GOOD, "nothing", "the file defines no callable 'nothing'"),
        (GOOD, "number", "the file defines no callable 'number'"),
        (
            "class P:\n    def __init__(self, task): raise OSError('no disk')\n",
            "P",
            "OSError: no disk",
        ),
    ],
)
def test_bad_python_files(tmp_path: Path, text: str, name: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputFormatError) as caught:
        load_policy(f"python:{file}:{name}", small_task("gripper-4"))
    assert message in str(caught.value)


def test_a_folder_is_no_python_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputFileError, match="this is a folder; expected a Python file"):
        load_policy("python:folder:f", small_task("gripper-4"))


def test_a_plan_that_comes_back_to_a_state_is_followed_to_its_end(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    found = plan(task)
    file = tmp_path / "plan"
    file.write_text("(move room-a room-b)\n(move room-b room-a)\n" * 2 + found.text)
    trace = run_once(load_policy(f"plan:{file}", task), task.initial_state)
    assert (trace.outcome, trace.cost) == ("goal", found.cost)


STEP = "(move room-a room-b)"


@pytest.mark.parametrize(
    "content",
    [
        *(STEP, f"\n{STEP}\r\n\n", "  ( MOVE\troom-a  room-b ) ; go", f"; cost = 1\n{STEP}", ""),
        *(STEP[1:-1], STEP[:-1], STEP[1:], f"({STEP})", STEP * 2, "()", "(", f"{STEP} 1", f"0: {STEP}"),
        *(f"{STEP}\v{STEP}", f"{STEP}\u2028", f"{STEP}\x85", f"\x1c{STEP}", f"\ufeff{STEP}", f"{STEP}\0"),
        *(STEP.replace(" ", "\xa0"), STEP.replace("room", "ro\u03bfm"), STEP.replace("m", "\uff4d")),
        *(b"; \xff\n" + STEP.encode(), STEP.encode() + b"\xff"),
    ],
)  # fmt: skip
def test_the_checker_reads_a_plan_likewise(tmp_path: Path, content: str | bytes) -> None:
    task = small_task("gripper-4")
    file = tmp_path / "plan"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        steps = len(run_once(load_policy(f"plan:{file}", task), task.initial_state).operators)
    except InputFormatError:
        steps = -1
    try:
        report = validate_plan(parse_sas(task.sas.decode()), read_plan(file))
        theirs = -1 if report.failed_step else report.steps
    except InputFormatError:
        theirs = -1
    assert steps == theirs


def test_errors_show_little_of_a_file_that_is_no_plan(tmp_path: Path) -> None:
    """A folder of a stranger may name any file of the machine as a plan."""
    file = tmp_path / "plan"
    file.write_text("key \x1b[31m" + "s" * 10_000)
    with pytest.raises(InputFormatError) as caught:
        load_policy(f"plan:{file}", small_task("gripper-4"))
    assert "key \\x1b[31msss" in caught.value.what
    assert caught.value.what.isprintable()
    assert len(caught.value.what) < 250


def test_third_party_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("mine", "misstep.policies.native:load_first", "misstep.policies"),
        metadata.EntryPoint("broken", "no.such.module:load", "misstep.policies"),
    ]
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: points if group == "misstep.policies" else []
    )
    task = small_task("gripper-4")
    assert load_policy("mine", task).name == "mine"
    with pytest.raises(MisstepError, match="cannot be loaded: ModuleNotFoundError"):
        load_policy("broken:x", task)
    with pytest.raises(UsageError, match="mine, broken"):
        load_policy("other", task)


def test_equal_digests_mean_equal_policies(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    file = tmp_path / "plan"
    digests = set()
    for spec in (
        "first",
        "random:1",
        "random:2",
        "heuristic:ff",
        "noisy:0.1:1+first",
        "noisy:0.1:1+random:1",
    ):
        digests.add(load_policy(spec, task).digest)
    for text in ("", "; other\n"):
        file.write_text(text)
        digests.add(load_policy(f"plan:{file}", task).digest)
        digests.add(load_policy(f"noisy:0.1:1+plan:{file}", task).digest)
    assert len(digests) == 10


@pytest.mark.parametrize(
    "spec", ["first", "random:3", "heuristic:ff", "optimal", "noisy:0.3:1+heuristic:add"]
)
def test_built_in_policies_conform(spec: str) -> None:
    task = small_task("blocksworld-4")
    asked, findings = check_policy(lambda: load_policy(spec, task), states=50)
    assert asked == 50
    assert findings == []


class Bad(Policy):
    """Breaks every rule of the kit but the shape of the answer."""

    loaded = 0

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        Bad.loaded += 1
        self.calls = 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        self.calls += 1
        answer = np.arange(len(states), dtype=np.int32) + self.calls + Bad.loaded
        answer %= self.task.operator_count
        answer[0] = -2
        if len(answer) > 1:
            answer[1] = 9999
            states[0, 0] = 1 - states[0, 0]
        return Answers(answer)


def test_the_kit_lists_every_finding() -> None:
    task = small_task("gripper-4")
    asked, findings = check_policy(lambda: Bad(task), states=40)
    assert asked == 40
    rules = " / ".join(finding.rule for finding in findings)
    for rule in (
        "alone",
        "exist",
        "apply",
        "asked twice",
        "in a batch",
        "another order",
        "loaded again",
    ):
        assert rule in rules
    asked, findings = check_policy(lambda: Misbehaving(task, 1, 50), states=40)
    assert {finding.rule for finding in findings} == {
        "answers every state",
        "names operators that apply",
    }


@pytest.mark.parametrize("raised", ["SystemExit(0)", "GeneratorExit()", "RuntimeError('a\\nb')"])
def test_user_code_cannot_end_or_garble_the_test(
    tmp_path: Path, raised: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"def p(state):\n    print('noise')\n    raise {raised}\n")
    task = small_task("gripper-4")
    trace = run_once(load_policy(f"python:{file}:p", task), task.initial_state)
    assert trace.outcome == "error"
    assert trace.message is not None
    assert "\n" not in trace.message
    assert capsys.readouterr().out == ""
    file.write_text("import sys\nsys.exit(5)\n")
    with pytest.raises(InputFormatError, match=r"mine.py:2: the file cannot be run: SystemExit: 5"):
        load_policy(f"python:{file}:p", task)


def test_every_kind_is_listed() -> None:
    assert all(kind.spec.startswith(name) for name, kind in BUILTIN.items())


class Raising(Policy):
    """Raises on every second call."""

    calls = 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        self.calls += 1
        if self.calls % 2:
            raise KeyError("lost")
        return Answers(np.full(len(states), -1, dtype=np.int32))


def test_a_policy_that_raises_is_a_finding_not_a_crash() -> None:
    task = small_task("gripper-4")
    _, findings = check_policy(lambda: Raising(task), states=10)
    assert any("KeyError: 'lost'" in finding.example for finding in findings)
