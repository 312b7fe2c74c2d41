"""A process that is killed at any moment leaves a prefix of whole units, and resumed it ends with the same records."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.store import Store, create_store, open_store
from misstep.campaigns.tables import Content
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import InputFileError
from misstep.tasks.load import AnyTask
from support.campaigns import (
    CONFIG,
    add_tested,
    counter_task,
    run_row,
    small_model,
    state_row,
    told,
    verdict_row,
)
from support.storm import CAMPAIGNS, COMPARING, run
from support.tasks import small_task

TESTS = Path(__file__).resolve().parents[1]
SIZE = 100_000

# Goes on where the store ends, as a campaign would: three states a round, then a tested one.
WRITER = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from campaigns.test_kill import write
write(*sys.argv[1:])
"""


def write(folder: str, ready: str = "before opening") -> None:
    place = Path(folder)
    fresh = not (place / "run.db").exists()
    if ready == "before opening":
        print("ready", flush=True)
    with create_store(place, CONFIG) if fresh else open_store(place) as store:
        content = Content(store)
        content.add_task(counter_task(size=10))
        content.set_policy("p", "d")
        findings = content.findings("counter")
        pool, tested = findings.state_count(), len(findings.runs())
        if ready == "while writing":
            print("ready", flush=True)
        # Nothing but writing in the loop, so that most kills hit the middle of a unit.
        while pool < SIZE:
            if pool == 3 * tested:
                findings.add_states([state_row(pool + i) for i in range(3)])
                pool += 3
            else:
                add_tested(findings, tested)
                tested += 1


def check_prefix(store: Store) -> tuple[int, int]:
    content = Content(store)
    if not content.task_names():
        return 0, 0
    findings = content.findings("counter")
    with store.snapshot():  # the writer may be at work
        states, runs, verdicts = findings.states(), findings.runs(), findings.verdicts()
    assert len(states) % 3 == 0
    assert states == [state_row(i) for i in range(len(states))]
    assert runs == [run_row(i) for i in range(len(runs))]
    assert verdicts == [verdict_row(i) for i in range(len(runs))]
    assert len(states) // 3 - len(runs) in (0, 1)
    return len(states), len(runs)


def start(folder: Path, ready: str = "before opening") -> subprocess.Popen[str]:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), ready], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def kill(writer: subprocess.Popen[str]) -> None:
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    assert writer.stdout is not None
    writer.stdout.close()


def check_kills(folder: Path, rounds: int) -> int:
    """Kill a writer many times; returns how often it had written something."""
    chance = CounterRandom(4)
    before, grown = (0, 0), 0
    for round_ in range(rounds):
        writer = start(folder, "while writing" if round_ % 4 else "before opening")
        time.sleep(0.005 + chance.below(1000) / 20_000)
        kill(writer)
        if not (folder / "run.db").exists():
            continue  # killed while creating: the next writer creates again
        with open_store(folder, readonly=round_ % 3 != 0) as store:
            after = check_prefix(store)
            assert store.remarks == ()
        assert after >= before
        grown += after > before
        before = after
    return grown


def test_kills_leave_a_prefix_that_grows(tmp_path: Path) -> None:
    assert check_kills(tmp_path / "c", 5) >= 2


@pytest.mark.soundness
def test_many_kills_leave_a_prefix_that_grows(tmp_path: Path) -> None:
    assert check_kills(tmp_path / "c", 50) >= 20  # most kills hit a writer at work


# One process for all moments: each fork dies at the n-th thing that Python is asked about on the way.
CREATOR = """
import os, signal, sys
from misstep.campaigns.store import create_store
create_store(sys.argv[1] + "-warm", {"seed": 1}).close()
seen = 0
def hook(event, _):
    global seen
    if event in ("open", "os.rename", "os.mkdir", "sqlite3.connect", "sqlite3.connect/handle", "os.remove"):
        seen += 1
        if seen > stop_at:
            os.kill(os.getpid(), signal.SIGKILL)
for stop_at in range(13):
    child = os.fork()
    if child == 0:
        sys.addaudithook(hook)
        create_store(sys.argv[1] + str(stop_at), {"seed": 1}).close()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_killed_creation_is_no_campaign_or_a_whole_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CREATOR, str(tmp_path / "c")],
        capture_output=True,
        text=True,
        check=True,
    )
    codes = list(map(int, done.stdout.split()))
    assert set(codes) <= {0, -signal.SIGKILL}
    assert codes.count(-signal.SIGKILL) >= 8
    whole = 0
    for stop_at in range(len(codes)):
        folder = tmp_path / f"c{stop_at}"
        if (folder / "run.db").exists():
            whole += 1
            with open_store(folder) as store:
                assert store.config == {"seed": 1}
        else:
            with create_store(folder, {"seed": 2}) as store:
                assert store.config == {"seed": 2}
    assert whole < len(codes)


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    writer = start(folder, "while writing")
    try:
        with pytest.raises(InputFileError, match=f"in use: process {writer.pid} on .* is writing"):
            open_store(folder)
        with open_store(folder, readonly=True) as store:
            check_prefix(store)
    finally:
        kill(writer)
    with open_store(folder) as store:  # the lock went with the process
        check_prefix(store)
        with pytest.raises(InputFileError, match="this process has it open already"):
            open_store(folder)
        with pytest.raises(InputFileError, match="a campaign in this folder already"):
            create_store(folder, {})
        # Neither refusal gave the lock up.
        other = subprocess.run(
            [sys.executable, "-c", WRITER, str(folder)], capture_output=True, text=True, check=False
        )
        assert f"process {os.getpid()}" in other.stderr


def test_a_forked_worker_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Workers of a killed campaign may live on for a while; resuming must not wait for them."""
    script = """
import os, sys, time
from misstep.campaigns.store import create_store
store = create_store(sys.argv[1], {})
worker = os.fork()
if worker == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(worker, flush=True)
time.sleep(60)
"""
    folder = tmp_path / "c"
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    worker = int(writer.stdout.readline())
    try:
        with pytest.raises(InputFileError, match="in use"):
            open_store(folder)
        kill(writer)
        open_store(folder).close()
    finally:
        os.kill(worker, signal.SIGKILL)


# -- whole campaigns ------------------------------------------------------------------------------


def check_killed_campaign(folder: Path, name: str, kills: int) -> None:
    """A small storm; `make storm` is a large one, with trainings."""
    tally = run([name], kills, 1, kills, folder)
    assert tally.differences == []
    assert tally.kills >= kills


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_kills_and_resume_end_with_the_same_records(tmp_path: Path, name: str) -> None:
    check_killed_campaign(tmp_path, name, 3)


@pytest.mark.soundness
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_fifty_kills_and_resume_end_with_the_same_records(tmp_path: Path, name: str) -> None:
    check_killed_campaign(tmp_path, name, 50)


@pytest.mark.parametrize("world", ["planning", "model"])
def test_an_interrupted_campaign_goes_on_where_it_was(tmp_path: Path, world: str) -> None:
    """Stopped after every single unit."""
    task: AnyTask = small_task("gripper-4") if world == "planning" else small_model("one-way-line")
    how: dict[str, Any] = (
        {"pool": 20, "oracle": COMPARING, "config": {"planning": {"chunk": 3, "round": 2}}}
        if world == "planning"
        else {"runs": 60, "config": {"model": {"batch": 5}}}
    )
    policy = "noisy:0.4:1+heuristic:ff" if world == "planning" else "first"
    expected = told(run_campaign(task, policy, **how))
    assert expected

    reports = 0

    def stop(*_: object) -> None:
        nonlocal reports
        reports += 1
        if reports == 2:  # the first one is of the unit that begins, the second of what is stored
            raise KeyboardInterrupt

    stops = 0
    while True:
        reports = 0
        try:
            run_campaign(
                task, policy, out=tmp_path / "c", resume=True, progress=stop, **how
            ).close()
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops > 10
    with open_campaign(tmp_path / "c") as found:
        assert told(found) == expected
