"""A small task, and policy programs that misbehave on purpose."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from misstep.policies.policy import States
from misstep.policies.process import ProcessPolicy
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

# The body may change `operators` and `answer`, or do worse; `guilty` rows have the robot in room b.
PROGRAM = """\
import json, os, signal, subprocess, sys, time
from pathlib import Path
HERE = Path(__file__).parent
def say(content):
    print(content if isinstance(content, str) else json.dumps(content), flush=True)
hello = json.loads(sys.stdin.readline())
greeting = {"protocol": 1, "name": "test"}
count = 0
#START
say(greeting)
for line in sys.stdin:
    batch = json.loads(line)
    count += 1
    states = batch["states"]
    guilty = [row for row, state in enumerate(states) if state[0] == 1]
    operators = [5 for _ in states]
    answer = {"id": batch["id"], "operators": operators}
#BODY
    say(answer)
"""

MakePolicy = Callable[..., ProcessPolicy]


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    files = write_instance(generate("gripper", balls=2), tmp_path_factory.mktemp("gripper"))
    return load_task(*files)


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., str]:
    """The command of a program with the given body."""

    def write(body: str = "", start: str = "") -> str:
        indented = "\n".join("    " + line for line in body.splitlines())
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.replace("#START", start).replace("#BODY", indented))
        return shlex.join([sys.executable, str(path)])

    return write


@pytest.fixture
def make(task: Task, command: Callable[..., str]) -> Iterator[MakePolicy]:
    """A policy behind a program with the given body."""
    made: list[ProcessPolicy] = []

    def build(body: str = "", start: str = "", **options: float) -> ProcessPolicy:
        policy = ProcessPolicy(task, command(body, start), **options)  # type: ignore[arg-type]
        made.append(policy)
        return policy

    yield build
    for policy in made:
        policy.close()


@pytest.fixture
def batch(task: Task) -> Callable[..., States]:
    """Copies of the initial state; in the guilty rows the robot is in room b."""

    def build(count: int, guilty: tuple[int, ...] = ()) -> States:
        states = np.tile(np.array(task.initial_state.values, dtype=np.int32), (count, 1))
        states[:, 0] = 0
        states[list(guilty), 0] = 1
        return states

    return build


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether a process ends within some seconds; what only waits to be reaped has ended."""

    def check(pid: int) -> bool:
        for _ in range(500):
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return True
            if state in "ZX":
                return True
            time.sleep(0.02)
        return False

    return check
