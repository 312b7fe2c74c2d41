"""Campaigns on workers of dask give the same records as here, whatever happens to the workers and the scheduler.

All tests of this file that do not end the cluster share one of two workers. Tests that take seconds are run by
`make soundness`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.cluster import link, opening
from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.testing import test as run_campaign
from misstep.comparison.retest import retest
from misstep.errors import InputFileError, ToolError, UsageError
from misstep.experiments.driver import run_experiment
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from misstep.versions import Identity
from support.campaigns import BATCHES, NOISY, ORACLE, SHARING, small_model, told
from support.cluster import Notes, dask_workers, local_scheduler, needs_dask
from support.disk import files_up_to
from support.experiments import definition, results
from support.tasks import small_task

pytestmark = needs_dask

PLANNING: dict[str, Any] = {"pool": 20, "oracle": ORACLE, "config": SHARING}
MODEL: dict[str, Any] = {"runs": 60, "config": BATCHES}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with local_scheduler(2) as (address, _):
        yield address


def sealed(campaign: Campaign) -> dict[str, Any]:
    """The sums of all rows, except those that say when and how the work was done."""
    rows = campaign._store.rows("SELECT value FROM meta WHERE key = 'seal'")
    return {table: sums for table, sums in json.loads(rows[0][0]).items() if table != "meta"}


@pytest.mark.parametrize("world", ["planning", "model"])
def test_the_same_records_as_here(cluster: str, tmp_path: Path, world: str) -> None:
    task = small_task("blocksworld-4") if world == "planning" else small_model("two-way-line")
    policy, how = (NOISY, PLANNING) if world == "planning" else ("random:3", MODEL)
    progress = Notes()
    with (
        run_campaign(task, policy, out=tmp_path / "here", **how) as here,
        run_campaign(
            task, policy, out=tmp_path / "there", cluster=cluster, progress=progress, **how
        ) as there,
    ):
        assert told(there) == told(here)
        assert sealed(there) == sealed(here)
        assert there.summary.finished
        assert there.replay(rerun=True).ok
    assert any("dashboard http://127.0.0.1:" in line for line in progress.lines)


@pytest.mark.soundness
def test_several_tasks_are_judged_again_and_retested_on_a_cluster(
    cluster: str, tmp_path: Path
) -> None:
    tasks: Any = [
        load_task(generate("gripper", balls=3)),
        load_task(generate("spanner", spanners=3, nuts=2, locations=3)),
        load_task(generate("ferry", cars=3, locations=3)),
    ]
    how = {**PLANNING, "pool": 8}
    found = {}
    for place, address in (("here", None), ("there", cluster)):
        with run_campaign(tasks, NOISY, out=tmp_path / place, cluster=address, **how) as own:
            own.judge("lookahead(2)", cluster=address)
            again = retest(own, "heuristic:ff", cluster=address)
            found[place] = told(own), told(again.campaign), str(again)
            again.campaign.close()
    assert found["here"] == found["there"]


@pytest.mark.soundness
def test_a_policy_that_is_asked_again_has_another_seed_of_hashes(
    cluster: str, tmp_path: Path
) -> None:
    """An answer that depends on the order of hashes shows in the process that asks again, here as there."""
    file = tmp_path / "hashed.py"
    file.write_text(
        "def act(state):\n    names = sorted(state.operators, key=lambda o: hash(str(o)))\n"
        "    return names[0] if names else None\n"
    )
    task = small_task("blocksworld-4")
    with run_campaign(task, f"python:{file}:act", cluster=cluster, **PLANNING) as there:
        assert {row["verdict"] for row in told(there)} == {"FLAKY"}


DEADLY = """
import os, signal, sys
def act(state):
    if len(state.values) == {width}:
        print("this is the end", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return state.operators[0] if state.operators else None
"""


def test_a_unit_that_ends_its_processes_is_named_and_the_others_go_on(
    cluster: str, tmp_path: Path
) -> None:
    good: Any = load_task(generate("gripper", balls=3))
    bad: Any = load_task(generate("blocksworld", blocks=4))
    assert good.variable_count != bad.variable_count
    file = tmp_path / "deadly.py"
    file.write_text(DEADLY.format(width=bad.variable_count))
    # Its own process would end with a policy of the kind python: that has a time limit, and not the one that works.
    with run_campaign(
        [good, bad], f"python:{file}:act", out=tmp_path / "c", cluster=cluster, **PLANNING
    ) as found:
        assert not found.summary.finished
        assert found.summary.limit == "crash"
        assert found.summary.by_task[good.name]["tested"] == 20
        (said,) = [text for text in found.summary.remarks if text.startswith(bad.name)]
        assert "failed: it ended 3 processes (signal 9 (out of memory?))" in said
        assert "this is the end" in said
        assert "the unit '0 after 0' of 'pool'" in said


HUNGRY = """
def act(state):
    if state.values[0] == 0:
        bytes(2**31)
    return state.operators[0] if state.operators else None
"""


def test_a_unit_with_too_little_memory_is_named(cluster: str, tmp_path: Path) -> None:
    file = tmp_path / "hungry.py"
    file.write_text(HUNGRY)
    limits = {"task_memory": 600}
    with run_campaign(
        small_task("blocksworld-4"),
        f"python:{file}:act",
        cluster=cluster,
        limits=limits,
        **PLANNING,
    ) as found:
        assert found.summary.limit == "memory"
        assert any(
            "too little memory (the limit is 600 MB a process) for the unit" in text
            for text in found.summary.remarks
        )


@pytest.mark.soundness
def test_time_limits_hold_on_a_cluster(cluster: str, tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text("import time\ndef act(state):\n    time.sleep(100)\n")
    limits = {"time": 6.0}
    with run_campaign(
        small_task("blocksworld-4"),
        f"python:{file}:act",
        cluster=cluster,
        limits=limits,
        **PLANNING,
    ) as found:
        assert found.summary.limit == "time"


# -- bad input ------------------------------------------------------------------------------------


def test_a_policy_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"python:FILE\.py:NAME"):
        run_campaign(
            small_task("gripper-4"), lambda _: None, cluster="tcp://127.0.0.1:1", out=tmp_path / "c"
        )
    assert not (tmp_path / "c").exists()


def test_an_address_without_a_scheduler_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CONNECT", 0.5)
    with pytest.raises(ToolError, match="no scheduler answers"):
        run_campaign(
            small_task("gripper-4"), "first", cluster="tcp://127.0.0.1:1", out=tmp_path / "c"
        )
    assert not (tmp_path / "c").exists()


def test_no_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CONNECT", 0.5)
    with pytest.raises(ToolError, match=r"TLS.*docs/cluster\.md"):
        run_campaign(
            small_task("gripper-4"), "first", cluster="tls://127.0.0.1:1", out=tmp_path / "c"
        )


@pytest.mark.soundness
def test_a_worker_of_another_version_is_left_out(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, asked = link.Link._ask, []

    def ask(self: link.Link, address: str) -> object:
        asked.append(address)
        found = true(self, address)
        assert isinstance(found, Identity)
        return found._replace(version="9.9.9", code="other") if address == asked[0] else found

    monkeypatch.setattr(link.Link, "_ask", ask)
    task, progress = small_task("gripper-4"), Notes()
    with run_campaign(task, NOISY, cluster=cluster, progress=progress, **PLANNING) as found:
        assert told(found) == told(run_campaign(task, NOISY, **PLANNING))
    said = [line for line in progress.lines if "9.9.9" in line]
    assert len(said) == 1
    assert f"the worker {asked[0]} has Misstep 9.9.9" in said[0]


NO_MISSTEP = """
import asyncio, sys
for name in [name for name in sys.modules if name.partition(".")[0] == "misstep"]:
    del sys.modules[name]
sys.modules["misstep"] = None  # not installed
import distributed
async def main():
    worker = await distributed.Worker(sys.argv[1], nthreads=1)
    print("ready", flush=True)
    await worker.finished()
asyncio.run(main())
"""
SCHEDULER = """
import asyncio, sys
sys.modules["misstep"] = None
import distributed
async def main():
    scheduler = await distributed.Scheduler(host="127.0.0.1", port=0, dashboard=False)
    print(scheduler.address, flush=True)
    await scheduler.finished()
asyncio.run(main())
"""


@contextmanager
def program(text: str, *arguments: str) -> Iterator[str]:
    """Start a program of dask; returns its first line of output."""
    process = subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_scheduler_without_misstep() -> None:
    with (
        program(SCHEDULER) as address,
        pytest.raises(ToolError, match="the scheduler has no Misstep"),
    ):
        run_campaign(small_task("gripper-4"), "first", cluster=address, **PLANNING)


@pytest.mark.parametrize("failures", [2, 3])
def test_a_greeting_that_dask_does_not_expect_is_tried_again(
    cluster: str, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    import distributed

    connect, tried = distributed.Client, list[str]()

    def client(*given: Any, **named: Any) -> distributed.Client:
        tried.append("once")
        if len(tried) <= failures:
            raise AssertionError
        return connect(*given, **named)

    monkeypatch.setattr(distributed, "Client", client)
    if failures == 3:
        with pytest.raises(ToolError, match="no connection to the scheduler"):
            run_campaign(small_task("gripper-4"), "first", cluster=cluster, **PLANNING)
    else:
        run_campaign(small_task("gripper-4"), "first", cluster=cluster, **PLANNING).close()
    assert len(tried) == 3


@pytest.mark.soundness
def test_a_worker_without_misstep(cluster: str) -> None:
    task, progress = small_task("gripper-4"), Notes()
    with (
        program(NO_MISSTEP, cluster) as said,
        run_campaign(task, NOISY, cluster=cluster, progress=progress, **PLANNING) as found,
    ):
        assert said == "ready"
        assert told(found) == told(run_campaign(task, NOISY, **PLANNING))
    assert sum("has no Misstep like this one" in line for line in progress.lines) == 1


def test_a_scheduler_with_bad_workers_only(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Identity("9.9.9", "other", "3.11")
    monkeypatch.setattr(link.Link, "_ask", lambda *_: other)
    said = r"no worker of the cluster can be used: tcp://\S+ has Misstep 9\.9\.9"
    with pytest.raises(ToolError, match=said):
        run_campaign(small_task("gripper-4"), "first", cluster=cluster, **PLANNING)


@pytest.mark.soundness
def test_a_full_disk_of_this_machine_is_reported(cluster: str, tmp_path: Path) -> None:
    task, how = small_task("blocksworld-4"), {**PLANNING, "pool": 60}

    class Filling(Notes):
        def __call__(self, phase: str, done: int, *_: object) -> None:
            if "judging" in phase and done and not self.lines[1:]:
                self.lines.append("the disk is full now")
                limit.__enter__()

    limit = files_up_to(4096)
    try:
        with pytest.raises(InputFileError, match=r"full|File too large"):
            run_campaign(
                task, NOISY, out=tmp_path / "c", cluster=cluster, progress=Filling(), **how
            )
    finally:
        limit.__exit__(None, None, None)
    with open_campaign(tmp_path / "c") as found:
        found.resume(cluster=cluster)
        assert told(found) == told(run_campaign(task, NOISY, **how))


# -- workers and schedulers that end --------------------------------------------------------------


class Killing(Notes):
    """Calls a function that kills something when a given amount of work is done."""

    def __init__(self, phase: str, kill: Any) -> None:
        super().__init__()
        self.phase, self.kill = phase, kill

    def __call__(self, phase: str, done: int, *_: object) -> None:
        if self.phase in phase and done and self.kill is not None:
            kill, self.kill = self.kill, None
            kill()


@pytest.mark.soundness
def test_a_worker_that_is_killed_and_a_scheduler_that_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CONNECT", 3.0)
    task, how = small_task("blocksworld-4"), {**PLANNING, "pool": 40}
    expected = told(run_campaign(task, NOISY, **how))
    with local_scheduler(2) as (address, pid):

        def kill_worker() -> None:
            os.kill(dask_workers(pid)[0], signal.SIGKILL)

        with run_campaign(
            task, NOISY, cluster=address, progress=Killing("judging", kill_worker), **how
        ) as found:
            assert told(found) == expected

        def kill_scheduler() -> None:
            os.killpg(pid, signal.SIGKILL)

        progress = Killing("judging", kill_scheduler)
        with pytest.raises(ToolError, match="the scheduler has gone away"):
            run_campaign(task, NOISY, out=tmp_path / "c", cluster=address, progress=progress, **how)
    with open_campaign(tmp_path / "c") as found:
        assert 0 < len(found) < 40
        assert told(found.resume()) == expected


# -- experiments ----------------------------------------------------------------------------------


@pytest.fixture
def stopped() -> Iterator[tuple[str, Callable[[], None]]]:
    """A scheduler, and a function that stops its process: it is there and says nothing any more."""
    with local_scheduler(1) as (address, pid):
        yield address, lambda: os.kill(pid, signal.SIGSTOP)


def test_a_scheduler_that_does_not_greet_is_not_waited_for_for_ever(
    stopped: tuple[str, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, stop = stopped
    monkeypatch.setattr(opening, "GREETING", 1.0)
    stop()
    with pytest.raises(ToolError, match="no scheduler answers: it is there"):
        opening.open_cluster(read_address(address), lambda _: None)


def test_a_scheduler_that_falls_silent_has_gone_away(
    stopped: tuple[str, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no time limit would hold: the coordinator asks it for its workers all the time."""
    address, stop = stopped
    opened = opening.open_cluster(read_address(address), lambda _: None)
    monkeypatch.setattr(link, "ASK", 0.2)
    monkeypatch.setattr(link, "SILENT", 0.5)
    stop()
    opened.look(now=True)
    time.sleep(0.5)
    with pytest.raises(ToolError, match=r"gone away \(it has not answered for"):
        opened.look(now=True)
    opened.close()


@pytest.mark.soundness
def test_an_experiment_runs_on_a_cluster(cluster: str, tmp_path: Path) -> None:
    here = run_experiment(definition(), tmp_path / "here")
    there = run_experiment(definition(), tmp_path / "there", cluster=cluster)
    assert (there.units, there.done, there.without) == (here.units, here.done, here.without)

    assert results(tmp_path / "there") == results(tmp_path / "here")


def test_a_worker_that_does_not_answer_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "PART", 0.2)
    with local_scheduler(1) as (address, pid):
        opened = opening.open_cluster(read_address(address), lambda _: None)
        worker = dask_workers(pid)[0]
        os.kill(worker, signal.SIGSTOP)
        try:
            opened.close()
        finally:
            os.kill(worker, signal.SIGCONT)
