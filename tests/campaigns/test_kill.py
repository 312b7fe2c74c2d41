"""A writer that is killed at any moment leaves a prefix of its work, each unit whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from misstep._core import CounterRandom
from misstep.campaigns.store import CampaignStore, create_store, open_store
from misstep.errors import InputFileError
from support.campaigns import counter_task, pool_record, run_record, verdict_record

TESTS = Path(__file__).resolve().parents[1]
SIZE = 100_000

# Goes on where the store ends, as a campaign would: three pool states a round, then a tested one with a better verdict.
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
    with create_store(place, {"seed": 1}) if fresh else open_store(place) as store:
        store.add_task(counter_task(size=10))
        store.set_policy("p", "d")
        done = store.last_unit("counter")
        pool, tested = done.pool, done.tested
        if ready == "while writing":
            print("ready", flush=True)
        # Nothing but writing in the loop, so that most kills hit the middle of a unit.
        while pool < SIZE:
            if pool == 3 * tested:
                store.add_pool(*(pool_record(pool + i) for i in range(3)))
                pool += 3
            else:
                earlier = [verdict_record(tested - 1)] if tested else []
                store.add_tested(run_record(tested), verdict_record(tested), earlier)
                tested += 1


def check_prefix(store: CampaignStore) -> tuple[int, int]:
    if not store.task_names():
        return 0, 0
    with store._snapshot():  # the writer may be at work
        pool, runs = store.pool("counter"), store.runs("counter")
        verdicts = store.verdicts("counter")
    assert len(pool) % 3 == 0
    assert pool == [pool_record(i) for i in range(len(pool))]
    assert runs == [run_record(i) for i in range(len(runs))]
    assert verdicts == [verdict_record(i) for i in range(len(runs))]
    assert len(pool) // 3 - len(runs) in (0, 1)
    return len(pool), len(runs)


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


def test_kills_leave_a_prefix_that_grows(tmp_path: Path) -> None:
    random = CounterRandom(4)
    folder = tmp_path / "c"
    before, grown = (0, 0), 0
    for round_ in range(32):
        writer = start(folder, "while writing" if round_ % 4 else "before opening")
        time.sleep(0.005 + random.below(1000) / 20_000)
        kill(writer)
        if not (folder / "run.db").exists():
            continue  # killed while creating: the next writer creates again
        with open_store(folder, readonly=round_ % 3 != 0) as store:
            after = check_prefix(store)
            assert store.remarks == ()
        assert after >= before
        grown += after > before
        before = after
    assert grown >= 15  # most kills hit a writer at work


@pytest.mark.parametrize("stop_at", range(12))
def test_a_killed_creation_is_no_campaign_or_a_whole_one(tmp_path: Path, stop_at: int) -> None:
    """The process dies at the n-th thing that Python is asked about on the way."""
    folder = tmp_path / "c"
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(TESTS)!r})
from misstep.campaigns.store import create_store
seen = 0
def hook(event, _):
    global seen
    if event in ("open", "os.rename", "os.mkdir", "sqlite3.connect", "sqlite3.connect/handle", "os.remove"):
        seen += 1
        if seen > {stop_at}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
create_store(sys.argv[1], {{"seed": 1}}).close()
"""
    done = subprocess.run([sys.executable, "-c", script, str(folder)], check=False)
    assert done.returncode in (0, -signal.SIGKILL)
    if (folder / "run.db").exists():
        with open_store(folder) as store:
            assert store.config == {"seed": 1}
    else:
        with create_store(folder, {"seed": 2}) as store:
            assert store.config == {"seed": 2}


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    writer = start(folder)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if (folder / "run.db").exists():
                break
            time.sleep(0.01)
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
