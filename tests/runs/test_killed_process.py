"""A policy process that is killed in the middle of a test: the test finishes, and nothing else changes."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from misstep._core import StateSpace
from misstep.policies.load import load_policy
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner
from support.tasks import generated_task

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "policies" / "first_applicable.py"


def children() -> list[int]:
    """Policy programs started by this process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            command = stat.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and str(PROGRAM).encode() in command:
            found.append(int(stat.parent.name))
    return found


def test_kills_change_nothing_but_the_states_they_hit() -> None:
    task = generated_task("blocksworld", blocks=5)
    states = StateSpace(task, [task.initial_state]).states()
    expected = PolicyRunner(load_policy("first", task)).run(states)

    policy = load_policy(f"exec:{shlex.join([sys.executable, str(PROGRAM)])}", task)
    runner = PolicyRunner(policy, batch_size=4)
    kills = 0
    over = threading.Event()

    def killer() -> None:
        nonlocal kills
        while not over.is_set() and kills < 8:
            for pid in children():
                try:
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass
            time.sleep(0.2)  # longer than a start takes: a program that never starts is away

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        ends = runner.run(states)
    finally:
        over.set()
        thread.join()
        policy.close()
    assert kills >= 1
    hit = np.array([OUTCOMES[o] == "error" for o in ends.outcomes])
    assert (ends.outcomes[~hit] == expected.outcomes[~hit]).all()
    assert (ends.steps[~hit] == expected.steps[~hit]).all()
    assert (ends.costs[~hit] == expected.costs[~hit]).all()
    assert set(runner.messages) == {
        int(id)
        for id in ends.ids
        if runner.graph.decisions(np.array([id], dtype=np.uint32))[0] == -2
    }
    assert children() == []
