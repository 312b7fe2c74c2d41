"""No process outlives its policy: neither the program nor what it started."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.policies.policy import States
from misstep.policies.process import ProcessPolicy
from misstep.tasks.task import Task

Make = Callable[..., ProcessPolicy]
Gone = Callable[[int], bool]

# Starts a process of its own and tells its number. It ignores the end of its input as well.
START = (
    "child = subprocess.Popen(['sleep', '600'])\n"
    "greeting['name'] = str(child.pid)\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
)


def test_close(make: Make, gone: Gone) -> None:
    policy = make("", START)
    pids = [policy.pid or 0, int(policy.program_name)]
    policy.close()
    assert all(map(gone, pids))


def test_garbage_collection(task: Task, command: Callable[..., str], gone: Gone) -> None:
    policy = ProcessPolicy(task, command("", START))
    pids = [policy.pid or 0, int(policy.program_name)]
    del policy
    gc.collect()
    assert all(map(gone, pids))


def test_crash_of_the_program(make: Make, batch: Callable[..., States], gone: Gone) -> None:
    # The grandchild keeps the pipes open: the death must be noticed all the same.
    policy = make("if guilty: os.kill(os.getpid(), signal.SIGKILL)", START)
    child = int(policy.program_name)
    assert "SIGKILL" in policy.decide(batch(1, (0,))).messages[0]
    assert gone(child)


OWNER = """\
import sys
from pathlib import Path
from misstep.policies.process import ProcessPolicy
from misstep.tasks.task import Task
task = Task(Path(sys.argv[1]).read_bytes())
policy = ProcessPolicy(task, sys.argv[2])
print(policy.pid, policy.program_name, flush=True)
import numpy as np
if sys.argv[3] == "ask":
    policy.decide(np.array([task.initial_state.values], dtype=np.int32))
"""


@pytest.mark.parametrize("end", ["exit", "interrupt", "kill"])
def test_end_of_the_owner(
    task: Task, command: Callable[..., str], gone: Gone, tmp_path: Path, end: str
) -> None:
    (tmp_path / "task.sas").write_bytes(task.sas)
    (tmp_path / "owner.py").write_text(OWNER)
    # Who is killed can do nothing any more, but the end of its input ends the program.
    body, start = ("time.sleep(1)", "") if end == "kill" else ("time.sleep(600)", START)
    action = "leave" if end == "exit" else "ask"
    owner = subprocess.Popen(
        [
            sys.executable,
            str(tmp_path / "owner.py"),
            str(tmp_path / "task.sas"),
            command(body, start),
            action,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert owner.stdout is not None
    words = owner.stdout.readline().decode().split()
    if end != "exit":
        os.kill(owner.pid, signal.SIGINT if end == "interrupt" else signal.SIGKILL)
    owner.wait(30)
    owner.stdout.close()
    assert all(gone(int(word)) for word in words if word.isdigit())
