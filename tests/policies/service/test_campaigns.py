"""Campaigns whose policy is at the service have the same records, whichever process ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import misstep
from misstep.policies import service
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED
from misstep.policies.service.code import ServedPolicy
from misstep.tasks.task import Task
from support.campaigns import told
from support.tasks import small_task

CODE = """
import os, pathlib, time

class Reckless:
    service = "cpu"

    def __init__(self, task):
        self.task = task
        with open(pathlib.Path(__file__).parent / "made", "a") as file:
            file.write(f"{os.getpid()}\\n")

    def act_batch(self, states):
        time.sleep(float(os.environ.get("SLOWLY", "0")))
        return [self.act(state) for state in states]

    def act(self, state):
        applicable = state.applicable()
        if sum(state.array.tolist()) % 11 == 10:
            raise RuntimeError("eleven")
        return applicable[sum(state.array.tolist()) % len(applicable)]

def plain(state):
    return state.applicable()[0]

plain.service = "cpu"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "reckless.py"
    path.write_text(textwrap.dedent(CODE))
    return path


def records(spec: str, **how: Any) -> list[dict[str, Any]]:
    task = small_task("transport-2")
    with misstep.test(task, spec, pool=30, seed=3, oracle="exact", **how) as found:
        return told(found)


def made_by(file: Path) -> list[int]:
    path = file.parent / "made"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_a_python_policy_that_asks_for_it_is_made_at_the_service(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task("transport-2")
    spec = f"python:{file}:Reckless"
    here = load_policy(spec, task)
    assert not isinstance(here, ServedPolicy)
    monkeypatch.setenv(service.VARIABLE, "on")
    there = load_policy(spec, task)
    assert isinstance(there, ServedPolicy)
    first, second = made_by(file)
    assert first == os.getpid() != second
    assert (there.name, there.digest, there.files) == (here.name, here.digest, here.files)
    states = np.random.default_rng(0).integers(0, 3, (300, task.variable_count)).astype(np.int32)
    expected, found = here.decide(states), there.decide(states)
    assert FAILED in expected.operators
    assert np.array_equal(found.operators, expected.operators)
    assert found.messages == expected.messages
    there.close()


def test_what_it_also_does_keeps_it_here(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(
        file.read_text().replace("def act(self", "values = act_batch\n\n    def act(self")
    )
    monkeypatch.setenv(service.VARIABLE, "on")
    assert not isinstance(
        load_policy(f"python:{file}:Reckless", small_task("ferry-3")), ServedPolicy
    )


def test_the_records_are_those_without_the_service(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"python:{file}:Reckless"
    monkeypatch.setenv(service.VARIABLE, "off")
    expected = records(spec)
    assert expected
    monkeypatch.delenv(service.VARIABLE)
    before = len(made_by(file))
    assert records(spec, jobs=2) == expected
    # At the service, and by whoever asks again; not by the two workers, nor in this process.
    assert len(set(made_by(file)[before:])) == 2
    assert os.getpid() not in made_by(file)[before:]


_CAMPAIGN = """
import sys
sys.path[:0] = {path!r}
import misstep
from misstep.tasks.task import Task
from support.campaigns import told
from support.tasks import small_task
if __name__ == "__main__":
    misstep.test([small_task("transport-2")], {spec!r}, pool=200, jobs=2, out={out!r})
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_campaign_that_is_ended(
    file: Path,
    tmp_path: Path,
    ends: Callable[[int], bool],
    monkeypatch: pytest.MonkeyPatch,
    end: signal.Signals,
) -> None:
    monkeypatch.setenv("SLOWLY", "0.05")
    spec, out = f"python:{file}:Reckless", str(tmp_path / "out")
    code = _CAMPAIGN.format(path=sys.path, spec=spec, out=out)
    campaign = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not made_by(file) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    [*pids] = set(made_by(file))
    assert pids
    if end == signal.SIGINT:
        os.killpg(campaign.pid, end)  # as Ctrl-C does
    else:
        campaign.kill()
    campaign.wait(30)
    assert all(ends(pid) for pid in pids)


_KILLER = """
import contextlib, os, sys, time
seen = set()
while len(seen) < 2:
    time.sleep(0.4)
    for pid in map(int, open(sys.argv[1]).read().split()):
        if pid not in seen:
            seen.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
"""


def test_a_campaign_survives_the_end_of_the_service(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"python:{file}:Reckless"
    monkeypatch.setenv(service.VARIABLE, "off")
    expected = records(spec, config={"max_steps": 100})
    made = file.parent / "made"
    made.write_text("")  # so that only services are killed
    monkeypatch.setenv(service.VARIABLE, "on")
    monkeypatch.setenv("SLOWLY", "0.05")
    killer = subprocess.Popen([sys.executable, "-c", _KILLER, str(made)])
    try:
        found = records(spec, config={"max_steps": 100})
    finally:
        killer.kill()
        killer.wait()
    assert found == expected
    assert len(set(made_by(file))) >= 2


def test_the_same_over_grpc(file: Path) -> None:
    pytest.importorskip("grpc")
    task = small_task("ferry-3")
    spec = f"python:{file}:plain"
    here = load_policy(spec, task)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "misstep", "serve-policy", spec, "--json"),
            *_files(task, file.parent),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        assert len(_services()) == 1
        remote = load_policy(f"grpc:{address}", task)
        states = np.array([task.initial_state.values] * 5, dtype=np.int32)
        assert np.array_equal(remote.decide(states).operators, here.decide(states).operators)
        remote.close()
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()


def _files(task: Task, folder: Path) -> list[str]:
    assert task.pddl is not None
    paths = [folder / "domain.pddl", folder / "problem.pddl"]
    for path, source in zip(paths, task.pddl, strict=True):
        path.write_bytes(source.content)
    return [str(path) for path in paths]


def _services() -> list[int]:
    """Processes that listen at the socket of this test."""
    own = os.environ["XDG_RUNTIME_DIR"]
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                words = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
                if own.encode() in words[0] and b"service.process" in words[1]:
                    found.append(int(folder.name))
    return found
