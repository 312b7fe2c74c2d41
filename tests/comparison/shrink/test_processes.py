"""The processes that shrink together: what they import, and how they end."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn, cast

import pytest

import misstep
from misstep.campaigns.process import STOPS
from misstep.comparison.shrink.examine import Examiner, examining_here
from misstep.errors import ToolError
from support.small import task_of


def test_a_strangers_folder_runs_nothing(tmp_path: Path) -> None:
    """`multiprocessing` itself is imported by its processes, and the folder that they start in comes first."""
    misstep.test(task_of("gripper", balls=2), "first", pool=5, out=tmp_path / "found").close()
    for module in ("multiprocessing", "selectors", "signal", "misstep"):
        text = "from pathlib import Path\nPath(__file__).with_name('it-ran').touch()\n"
        (tmp_path / f"{module}.py").write_text(text)
    command = "from misstep.__main__ import main; main()"
    program = f"import sys; sys.path[:] = [own for own in sys.path if own]; {command}"
    done = subprocess.run(
        [sys.executable, "-c", program, "shrink", "found", "--jobs", "2", "--candidates", "5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert not (tmp_path / "it-ran").exists()
    assert done.returncode == 0, done.stderr


SCRIPT = """
import multiprocessing, sys
import misstep
print("the script runs")
task = misstep.load_task(misstep.generate("gripper", balls=2))
def first(state):
    return state.operators[0]
policy = "first" if sys.argv[1] == "spec" else lambda state: sys.modules["__main__"].first(state)
found = misstep.test(task, policy, pool=3)
def together():
    shrunk = found.shrink(found.bugs[0], jobs=2, candidates=30)
    print(shrunk.objects_after < shrunk.objects_before)
    print(len(misstep.test(task, policy, jobs=2).bugs) > 0)
if sys.argv[2] == "daemon":
    misstep.test(task, policy, pool=3, out="found").close()
    def alone():
        global found
        found = misstep.open_campaign("found", policy)
        together()
    child = multiprocessing.get_context("fork").Process(target=alone, daemon=True)
    child.start()
    child.join()
else:
    together()
"""


@pytest.mark.parametrize("policy", ["spec", "own"])
@pytest.mark.parametrize("process", ["main", "daemon"])
def test_a_script_that_does_not_expect_other_processes(
    tmp_path: Path, policy: str, process: str
) -> None:
    """It has no `if __name__ == "__main__"`, and may itself be daemonic, as in `multiprocessing.Pool`."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py", policy, process],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["the script runs", "True", "True"], done.stderr
    assert "Traceback" not in done.stderr


class Examining:
    """An examiner whose policy exists in memory only, so that its processes are forks."""

    def __init__(self, ends: bool) -> None:
        self.judge = SimpleNamespace(source=object())
        self.ends = ends

    def examine(self, *_: object) -> object:
        if self.ends:
            os.kill(os.getpid(), 9)
        time.sleep(60)
        return None


def examine(examiner: Examining, then: BaseException | None = None) -> None:
    with examining_here(cast(Examiner, examiner), 2) as examining:
        candidates: Any = iter(["a", "b", "c"])
        for _ in examining.each(stopping(candidates, then), None):
            pass


def stopping(candidates: Any, then: BaseException | None) -> Any:
    yield next(candidates)
    if then is not None:
        time.sleep(0.5)  # the process has begun
        raise then
    yield from candidates


def test_a_process_that_ends_is_no_internal_error() -> None:
    with pytest.raises(ToolError, match="a worker process ended by itself"):
        examine(Examining(ends=True))


def test_no_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /dev/shm is read-only, the queue of a pool has no locks."""

    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("_multiprocessing.SemLock", refuse)
    with pytest.raises(ToolError, match=r"shared memory: the disk is read-only; use one process"):
        examine(Examining(ends=True))


def test_an_interruption_does_not_wait_for_candidates() -> None:
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        examine(Examining(ends=False), KeyboardInterrupt())
    assert time.perf_counter() - began < 20


class Started:
    """Instead of a pool: the signals that are blocked whenever a process may start."""

    blocked: ClassVar[list[set[int]]] = []

    def __init__(self, *_: object) -> None:
        self.blocked.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, [])))

    def submit(self, *_: object) -> Future[object]:
        self.blocked.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
        done: Future[object] = Future()
        done.set_result(None)
        return done

    def shutdown(self, **_: object) -> None:
        pass


def test_ctrl_c_does_not_reach_processes_that_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would print tracebacks from their imports."""
    monkeypatch.setattr("misstep.comparison.shrink.examine.ProcessPoolExecutor", Started)
    monkeypatch.setattr(Started, "blocked", [])
    examine(Examining(ends=False))
    assert len(Started.blocked) == 4
    assert all(blocked >= STOPS for blocked in Started.blocked)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & STOPS


class Heard(Examining):
    def examine(self, *_: object) -> object:
        return signal.getsignal(signal.SIGHUP), signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_closed_terminal_is_for_the_parent() -> None:
    with examining_here(cast(Examiner, Heard(ends=False)), 2) as examining:
        ((_, found),) = examining.each(iter(cast(Any, ["a"])), None)
    assert cast(Any, found) == (signal.SIG_IGN, set())


def test_a_process_that_begins_after_the_end_of_its_parent() -> None:
    """It would wait for work for ever."""
    code = "from misstep.comparison.shrink.examine import _begin; _begin(None, 1); import time; time.sleep(60)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=50
    )
    assert (done.returncode, done.stderr) == (23, b"")
