"""Programs that misbehave are reported in one line, and the next state is asked as usual."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    PolicyAwayError,
    UsageError,
)
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT
from misstep.policies.process.channel import ProgramError
from support.tasks import rows, small_task

# Called in two states: it misbehaves in the first, where the robot is in room-a, and is content in the second.
BODY = """\
import os, sys, time
def get_plan(objects, init, goal):
    if ("at-robot", "room-a") not in init:
        return []
    BODY
"""
TROUBLE = {
    "raise KeyError('x')": (FAILED, "own.py:5: KeyError: 'x'"),
    "return get_plan(objects, init, goal)": (FAILED, "RecursionError"),
    "sys.exit(3)": (FAILED, "own.py:5: SystemExit: 3"),
    "os._exit(3)": (FAILED, "the program ended with exit code 3"),
    "os.abort()": (FAILED, "the program was ended by SIGABRT"),
    "return None": (FAILED, "the program returned None, not a list of operators"),
    "return 'move room-a room-b'": (FAILED, "returned 'move room-a room-b', not a list"),
    "return [('move', 'room-a')]": (FAILED, "operator 0 of the plan is ('move', 'room-a'), not"),
    "return ['(fly room-a)']": (FAILED, "named '(fly room-a)', and the task has no such"),
    "return ['']": (FAILED, "the task has no such operator"),
    "return ['x' * 20000]": (FAILED, "not a text such as"),
    "return [''] * 1000001": (FAILED, "1,000,001 operators, at most 1,000,000"),
    "return bytearray(1 << 40)": (FAILED, "MemoryError"),
    "time.sleep(60)": (TIMED_OUT, "the program gave no plan within 0.5 s"),
    "while True: pass": (TIMED_OUT, "the program gave no plan within 0.5 s"),
    "os.fork() or time.sleep(60); return 5": (FAILED, "returned 5"),
    "return [] if os.fork() else ['x']": (NO_ACTION, ""),
    "print('hello'); os.system('echo hello'); return []": (NO_ACTION, ""),
    "return input()": (FAILED, "own.py:5: EOFError"),
    "[os.write(n, b'{}' + b'\\n') for n in range(3, 9)]": (FAILED, ""),
}


@pytest.mark.parametrize("body", TROUBLE)
def test_one_line_each(body: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    task = small_task("gripper-4")
    file = tmp_path / "own.py"
    file.write_text(BODY.replace("BODY", body))
    expected, message = TROUBLE[body]
    limits = "--timeout=0.5" if expected == TIMED_OUT else "--timeout=30"
    policy = load_policy(f"program:--closed --memory-limit=1000 {limits} {file}", task)
    move = task.resolve("move room-a room-b", task.initial_state)
    other = task.apply(task.initial_state, move)
    if body.startswith("[os.write"):
        (answer,) = policy.decide(rows([task.initial_state])).operators.tolist()
        assert answer == FAILED
        policy.close()
        return
    answers = policy.decide(rows([task.initial_state, other, task.initial_state]))
    assert answers.operators.tolist() == [expected, NO_ACTION, expected]
    if message:
        assert message in answers.messages[0]
        assert answers.messages.keys() == {0, 2}
        assert "\n" not in answers.messages[0]
    policy.close()
    assert capfd.readouterr().out == ""


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    file, noted = tmp_path / "own.py", tmp_path / "pid"
    file.write_text(
        "import os, time\nfrom pathlib import Path\n"
        "def get_plan(o, i, g):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n        time.sleep(600)\n"
        f"    Path({str(noted)!r}).write_text(str(child))\n"
        "    return []\n"
    )
    task = small_task("gripper-4")
    policy = load_policy(f"program:{file}", task)
    assert list(policy.plan(task.initial_state)) == []
    child = int(noted.read_text())
    policy.close()
    for _ in range(500):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if "State:\tZ" in Path(f"/proc/{child}/status").read_text():
            return
        time.sleep(0.01)
    pytest.fail("the forked process is still there")


@pytest.mark.parametrize("then", [None, "def get_plan(:", "import os\nos._exit(3)"])
def test_a_program_that_cannot_be_started_again_is_away(tmp_path: Path, then: str | None) -> None:
    """It is not there to be asked, which is no crash in the state that it would be asked about."""
    file = tmp_path / "mine.py"
    file.write_text("import os\n\ndef get_plan(objects, init, goal):\n    os._exit(1)\n")
    task = small_task("gripper-4")
    policy = load_policy(f"program:--closed {file}", task)
    states = rows([task.initial_state])
    assert policy.decide(states).operators.tolist() == [FAILED]
    if then is None:
        file.unlink()
    else:
        file.write_text(then)
    with pytest.raises(PolicyAwayError, match="again"):
        policy.decide(states)
    policy.close()


def test_an_open_plan_that_fails_raises(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    file = tmp_path / "own.py"
    file.write_text(
        "import time\ndef get_plan(o, i, g):\n    time.sleep(60)\ndef bad(o, i, g):\n    1 / 0"
    )
    policy = load_policy(f"program:--timeout=0.3 {file}", task)
    with pytest.raises(TimeoutError, match=r"within 0\.3 s"):
        policy.plan(task.initial_state)
    policy.close()
    policy = load_policy(f"program:{file}:bad", task)
    with pytest.raises(ProgramError, match=r"own\.py:5: ZeroDivisionError"):
        policy.plan(task.initial_state)
    policy.close()


BAD_FILES = {
    "def get_plan(:": r"own\.py:1: the file cannot be run: SyntaxError",
    "x = 1\n1 / 0": r"own\.py:2: the file cannot be run: ZeroDivisionError",
    "import sys\nsys.exit()": r"own\.py:2: the file cannot be run: SystemExit",
    "import not_there": r"own\.py:1: .*ModuleNotFoundError",
    "def plan(): pass": r"defines no function 'get_plan'; expected def get_plan\(objects, init",
    "get_plan = 3": r"defines no function 'get_plan'",
    "import os\nos._exit(4)": r"cannot be loaded: the program ended with exit code 4",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(text)
    with pytest.raises(MisstepError, match=BAD_FILES[text]):
        load_policy(f"program:{file}", small_task("gripper-4"))


def test_bad_specs(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    with pytest.raises(InputFileError, match="no such file"):
        load_policy(f"program:{tmp_path}/none.py", task)
    (tmp_path / "a.py").write_bytes(b"\0\xff")
    with pytest.raises(InputFormatError, match="cannot be run"):
        load_policy(f"program:{tmp_path}/a.py", task)
    (tmp_path / "a.txt").write_text("def get_plan(o, i, g): return []")
    with pytest.raises(InputFormatError, match="its name must end in"):
        load_policy(f"program:{tmp_path}/a.txt", task)
    for spec in ("program:", "program:--closed", "program:a.py:", "program:a.py:1x"):
        with pytest.raises(UsageError, match=r"expected program:FILE\.py"):
            load_policy(spec, task)
    for spec in ("program:--objects=all a.py", "program:--timeout=0 a.py", "program:--fast a.py"):
        with pytest.raises(UsageError, match="expected"):
            load_policy(spec, task)
