"""Limits of a session end the work cleanly, keep what is done, and never become a verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest

from misstep.campaigns import alarm, workers
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.limits import Limits
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import MisstepError, ToolError, UsageError
from misstep.policies.function import StateView
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from support.campaigns import BATCHES, ORACLE, SHARING, small_model, told
from support.tasks import small_task

HOW: dict[str, Any] = {"pool": 15, "oracle": ORACLE, "config": SHARING}


class Slow:
    """The first operator, after a while."""

    delay = 0.0

    def act(self, state: StateView) -> str | None:
        time.sleep(self.delay)
        return state.operators[0] if state.operators else None


class SlowLabel:
    """The first label that applies, after a while."""

    delay = 0.0

    def act(self, _: dict[str, Any]) -> str:
        time.sleep(self.delay)
        return "pick"

    def values(self, _: dict[str, Any]) -> dict[str, float]:
        return {"pick": 5, "drop": 4, "acc": 3, "dec": 2, "move": 1}


def finished(campaign: Campaign, policy: Any) -> list[dict[str, Any]]:
    """Resume until all is done; a larger limit each time, as a unit that never fits is never done."""
    for step in range(1, 40):
        if campaign.summary.finished:
            break
        before = told(campaign)
        campaign.resume(limits=Limits(time=0.15 * step))
        now = told(campaign)
        assert [row["id"] for row in now[: len(before)]] == [row["id"] for row in before]
    policy.delay = 0.0
    return told(campaign)


@pytest.mark.parametrize("limits", [Limits(time=0.3), Limits(task_time=0.3)])
def test_time_ends_a_campaign_cleanly(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task("blocksworld-4")
    policy = Slow()
    monkeypatch.setattr(Slow, "delay", 0.01)
    began = time.perf_counter()
    found = run_campaign(task, policy, limits=limits, **HOW)
    assert time.perf_counter() - began < 5
    assert not found.summary.finished
    assert any(
        "the time limit of 0.3 seconds was reached: " in text and "--resume continues" in text
        for text in found.summary.remarks
    )
    assert found.replay(rerun=False).ok
    monkeypatch.setattr(Slow, "delay", 0.0)
    found.resume()
    assert found.summary.finished
    assert told(found) == told(run_campaign(task, Slow(), **HOW))


def test_many_short_sessions_end_with_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (task, policy, how) in enumerate(
        (
            (small_task("blocksworld-4"), Slow(), HOW),
            (small_model("two-way-line"), SlowLabel(), {"runs": 30, "config": BATCHES}),
        )
    ):
        expected = told(run_campaign(task, policy, **how))
        monkeypatch.setattr(type(policy), "delay", 0.002)
        out = tmp_path / str(number)
        with run_campaign(task, policy, limits=Limits(time=0.02), out=out, **how) as found:
            assert not found.summary.finished
            assert finished(found, policy) == expected


def test_each_task_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [load_task(generate("gripper", balls=2)), load_task(generate("gripper", balls=3))]
    monkeypatch.setattr(Slow, "delay", 0.05)
    found = run_campaign(tasks, Slow(), limits=Limits(task_time=0.2), **HOW)
    told = [text for text in found.summary.remarks if "time limit" in text]
    assert [text.split(":")[0] for text in told] == [task.name for task in tasks]


def test_a_time_limit_in_a_thread() -> None:
    """There are no alarms in a thread, so the work ends between two units."""
    found: list[Campaign] = []

    def work() -> None:
        # SQLite in memory belongs to its thread: what is asked of it is asked here.
        campaign = run_campaign(small_task("gripper-4"), Slow(), limits=Limits(time=1e-6), **HOW)
        assert any("time limit" in text for text in campaign.summary.remarks)
        found.append(campaign)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found


def test_time_with_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slow, "delay", 0.02)
    task = small_task("blocksworld-4")
    found = run_campaign(task, Slow(), jobs=2, limits=Limits(time=0.4), **HOW)
    assert any("time limit" in text for text in found.summary.remarks)
    monkeypatch.setattr(Slow, "delay", 0.0)
    found.resume(jobs=2)
    assert told(found) == told(run_campaign(task, Slow(), **HOW))


def test_wrong_limits_are_refused() -> None:
    for wrong in ({"time": 0}, {"time": -1}, {"memory": "much"}, {"task_time": 0}):
        with pytest.raises(UsageError, match="expected more than 0"):
            Limits(**wrong)


# -- memory ---------------------------------------------------------------------------------------

HUNGRY = """
def act(state):
    if state.values[0] == {value}:
        bytes(2**31)
    return state.operators[0] if state.operators else None
"""


def test_a_policy_that_reaches_the_memory_limit_has_not_failed(tmp_path: Path) -> None:
    """A policy that runs into the limit has not failed: the work ends there, and can go on with more."""
    task = small_task("blocksworld-4")
    file = tmp_path / "hungry.py"
    file.write_text(HUNGRY.format(value=-1))
    modest = told(run_campaign(task, f"python:{file}:act", **HOW))
    file.write_text(HUNGRY.format(value=0))
    policy = f"python:{file}:act"
    with run_campaign(
        task, policy, limits=Limits(task_memory=400), out=tmp_path / "c", **HOW
    ) as found:
        assert any(
            "too little memory (the limit is 400 MB a process)" in text
            for text in found.summary.remarks
        )
        assert not found.summary.finished
        for row in told(found):
            assert row in modest
            assert row["run"]["outcome"] != "error"


def test_an_oracle_that_reaches_the_memory_limit_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What an oracle cannot hold ends the work on the task, in this process too."""
    task = small_task("gripper-4")

    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("misstep.campaigns.planning.work.TestLoop.run", greedy)
        found = run_campaign(task, "first", **HOW)
        assert len(found) == 0
        assert any("there was too little memory" in text for text in found.summary.remarks)
    found.resume()
    assert told(found) == told(run_campaign(task, "first", **HOW))


def test_memory_of_a_policy_of_a_model() -> None:
    def act(_: dict[str, Any]) -> str:
        raise MemoryError

    found = run_campaign(small_model("two-way-line"), act, runs=10)
    assert len(found) == 0
    assert any("there was too little memory" in text for text in found.summary.remarks)


# -- workers that end -----------------------------------------------------------------------------


def test_a_policy_that_ends_its_process(tmp_path: Path) -> None:
    file = tmp_path / "suicidal.py"
    # Native code: os._exit of Python is caught.
    file.write_text("import ctypes\n\ndef act(state):\n    ctypes.CDLL(None)._exit(3)\n")
    with pytest.raises(ToolError, match=r"ended by itself \(exit code 3\).*--jobs 1"):
        run_campaign(
            small_task("gripper-4"), f"python:{file}:act", jobs=2, out=tmp_path / "c", **HOW
        )
    with pytest.raises(ToolError, match="exit code 3"):
        run_campaign(small_model("two-way-line"), f"python:{file}:act", jobs=2, runs=10)
    assert not (tmp_path / "c").exists()  # nothing was done that would be worth keeping
    with pytest.raises(ToolError, match=r"too little memory$"):  # without advice that was followed
        run_campaign(small_task("gripper-4"), f"python:{file}:act", limits={"memory": 2000}, **HOW)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_worker_that_is_killed(
    tmp_path: Path, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    for name in ("_fork", "_start_new"):
        start = getattr(workers, name)

        def note(*given: Any, start: Any = start) -> Any:
            process = start(*given)
            started.append(process.child.pid)
            return process

        monkeypatch.setattr(workers, name, note)

    def kill(*_: object) -> None:
        if started:
            os.kill(started.pop(), signal.SIGKILL)

    task = small_task("blocksworld-4")
    policy: Any = Slow() if in_memory else "first"
    began = time.perf_counter()
    how = {**HOW, "jobs": 2, "progress": kill, "out": tmp_path / "c", "resume": True}
    with pytest.raises(ToolError, match=r"ended by itself \(signal 9\)"):
        run_campaign(task, policy, **how)
    assert time.perf_counter() - began < 20
    with open_campaign(tmp_path / "c", policy) as found:
        found.resume()
        assert told(found) == told(run_campaign(task, "first", **HOW))


def test_an_internal_error_in_a_worker_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise AttributeError("nothing here")

    monkeypatch.setattr("misstep.campaigns.planning.work.PlanningWork._judge", broken)
    with pytest.raises(MisstepError, match="internal error: AttributeError: nothing here"):
        run_campaign(small_task("gripper-4"), Slow(), jobs=2, **HOW)


def test_a_policy_that_catches_everything_has_a_limit_too() -> None:
    def stubborn(state: StateView) -> str:
        try:
            time.sleep(30)
        except BaseException:
            time.sleep(30)
        return state.operators[0]

    began = time.perf_counter()
    found = run_campaign(small_task("gripper-4"), stubborn, pool=5, limits=Limits(time=0.5))
    assert time.perf_counter() - began < 20
    assert found.summary.limit == "time"
    assert found.records == []


class Bell:
    """Rings the alarm at one instruction of the code of alarms."""

    def __init__(self, hit: int | None = None) -> None:
        self.count = 0
        self._hit = hit

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG002
        if frame.f_code.co_filename != alarm.__file__ or frame.f_code.co_name == "_ring":
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.count += 1
            if self.count == self._hit and signal.getsignal(signal.SIGALRM) is not not_ours:
                signal.raise_signal(signal.SIGALRM)
        return self

    def watch(self) -> None:
        before = sys.gettrace()
        # Python 3.12 reports instructions only if some frame had asked for them when settrace was called.
        sys._getframe().f_trace_opcodes = True
        try:
            sys.settrace(self)
            with alarm.Alarm(100):
                pass
        finally:
            sys.settrace(before)


def not_ours(*_: object) -> None:
    """A handler of the program that uses us."""


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, not_ours)
    hook = sys.unraisablehook
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    sys.unraisablehook = hook


@pytest.mark.usefixtures("handler")
def test_an_alarm_while_it_is_set_or_ended_leaves_nothing_behind() -> None:
    """A timer that is left would end, half a second later, work that has no limit."""
    hook = sys.unraisablehook
    whole = Bell()
    whole.watch()
    assert whole.count > 40
    for place in range(1, whole.count + 1):
        Bell(place).watch()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is not_ours
        assert sys.unraisablehook == hook


@pytest.mark.usefixtures("handler")
def test_an_alarm_in_a_finalizer_rings_again() -> None:
    """Python swallows what a finalizer raises; it would be told as a warning, and the limit would not hold."""

    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGALRM)

    def drop() -> None:
        Dropped()
        time.sleep(10)

    began = time.perf_counter()
    with pytest.raises(alarm.OutOfTime), alarm.Alarm(100):
        drop()
    assert time.perf_counter() - began < 5


CTRL_C = """
import signal, time
from misstep.stops import Stopped, interrupt_once, mark_stops

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, interrupt_once)
mark_stops()
try:
    Dropped()
    time.sleep(10)
except Stopped:
    print("stopped")
"""


def test_ctrl_c_in_a_finalizer_comes_again() -> None:
    ended = subprocess.run([sys.executable, "-c", CTRL_C], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("stopped\n", "")


def test_a_task_that_a_worker_cannot_even_receive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the end of the worker nor an internal error: there was too little memory."""

    class Full:
        def recv(self) -> None:
            raise MemoryError

    outcome = workers._outcome(cast(Any, Full()), cast(Any, None))
    assert outcome == workers.Lost("memory")
    monkeypatch.setattr(workers, "limit_memory", lambda _: None)
    found = run_campaign(small_task("gripper-4"), "first", limits=Limits(task_memory=500), **HOW)
    assert found.summary.finished
