"""Python policies at the service decide as without it, in every folder, whatever changes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import InputFormatError
from misstep.policies import service
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.policies.service import code
from misstep.policies.service.code import ServedPolicy
from support.tasks import small_task

FIXED = """
import os
def act(state):
    return {answer}
act.service = "cpu"
"""


@pytest.fixture(autouse=True)
def use_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(service.VARIABLE, "on")


def loaded(spec: str) -> ServedPolicy:
    policy = load_policy(spec, small_task("ferry-3"))
    assert isinstance(policy, ServedPolicy)
    return policy


def answer(policy: Policy, count: int = 1) -> int:
    states = np.array([policy.task.initial_state.values] * count, dtype=np.int32)
    return int(policy.decide(states).operators[0])


def written(folder: Path, own: object) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "fixed.py"
    file.write_text(FIXED.format(answer=own))
    return file


def test_a_file_that_has_changed_is_another_policy_while_the_old_one_is_asked(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, 1)
    old = loaded(f"python:{file}:act")
    written(tmp_path, 2)
    new = loaded(f"python:{file}:act")
    assert (answer(old), answer(new)) == (1, 2)
    assert old.digest != new.digest


def test_a_file_that_changes_before_the_service_dies_is_not_mixed_in(tmp_path: Path) -> None:
    file = written(tmp_path, 1)
    policy = loaded(f"python:{file}:act")
    assert answer(policy) == 1
    written(tmp_path, 2)
    os.kill(_service_of_this_test(), signal.SIGKILL)
    with pytest.raises(InputFormatError, match="have changed while it was asked"):
        answer(policy)


def _service_of_this_test() -> int:
    place = f"XDG_RUNTIME_DIR={os.environ['XDG_RUNTIME_DIR']}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes().split(b"\0")
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if place in words and b"service.process" in line:
            return int(folder.name)
    raise AssertionError("there is no service")


def test_a_relative_name_means_the_file_of_the_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    kept = []  # so that the first service is still there when the second policy is loaded
    for own in (1, 2):
        written(tmp_path / str(own), own)
        monkeypatch.chdir(tmp_path / str(own))
        kept.append(loaded("python:fixed.py:act"))
        found.append(answer(kept[-1]))
    assert found == [1, 2]


def test_variables_are_those_of_the_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, "int(os.environ['CHOICE'])")
    found, kept = [], []
    for own in (1, 2):
        monkeypatch.setenv("CHOICE", str(own))
        kept.append(loaded(f"python:{file}:act"))
        found.append(answer(kept[-1]))
    assert found == [1, 2]


def test_the_seed_of_hashes_is_that_of_processes_that_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, "int(os.environ.get('PYTHONHASHSEED', 9))")
    monkeypatch.setenv("PYTHONHASHSEED", "3")
    assert answer(loaded(f"python:{file}:act")) == 0


def test_all_that_a_policy_says_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "wordy.py"
    file.write_text(
        "def act(state):\n    raise ValueError(str(sum(state.array.tolist())) + 'é ' + 'ß' * 700)\n"
        "act.service = 'cpu'\n"
    )
    there = loaded(f"python:{file}:act")
    monkeypatch.setenv(service.VARIABLE, "off")
    here = load_policy(f"python:{file}:act", there.task)
    states = np.array([there.task.initial_state.values] * 1500, dtype=np.int32)
    expected, found = here.decide(states), there.decide(states)
    assert len(expected.messages) == 1500
    assert found.messages == expected.messages


def test_code_that_makes_more_than_decisions_stays_here(tmp_path: Path) -> None:
    file = tmp_path / "maker.py"
    file.write_text(
        "class Own:\n    def act(self, state): return 0\n"
        "    def permitted(self, state): return [0, 1]\n"
        "def make(task): return Own()\nmake.service = 'cpu'\n"
    )
    policy = load_policy(f"python:{file}:make", small_task("ferry-3"))
    assert policy.set_valued
    assert not isinstance(policy, code.ServedPolicy)
