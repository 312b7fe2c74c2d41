"""Campaigns end to end: sound against exhaustive truth, the same whoever does the work, and whatever kills it."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from misstep.campaigns.configuration import CampaignSettings

from misstep._core import StateSpace
from misstep.campaigns.campaign import Campaign, summary_of
from misstep.campaigns.replay import replay
from misstep.campaigns.store import create_store, open_store
from misstep.fuzzing.settings import preset
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.task import State, Task
from support.tasks import random_costs, sas, small_task

ORACLE = "elimination, undo, lookahead(2), aras/ehc"


def settings(policy: str, oracle: str = ORACLE, **fuzzing: object) -> CampaignSettings:
    return CampaignSettings(
        policy, oracle, chunk=5, fuzzing=preset("p24", max_states=20, patience=500, **fuzzing)
    )


def records(folder: Path) -> list[dict[str, object]]:
    with open_store(folder, readonly=True) as store:
        return [{**t.as_dict(), "seconds": 0} for t in store.tested()]


def run(folder: Path, task: Task, chosen: CampaignSettings, **how: int) -> list[dict[str, object]]:
    with create_store(folder, chosen.as_dict()) as store:
        Campaign(store, chosen, **how).run([task])  # type: ignore[arg-type]
    return records(folder)


@pytest.mark.parametrize(
    "policy", ["heuristic:ff", "noisy:0.4:1+heuristic:ff", "first", "random:3", "optimal"]
)
@pytest.mark.parametrize(
    "name", ["gripper-4", "blocksworld-4", "spanner-3", "transport-2", "floortile-2x2"]
)
def test_verdicts_are_true(tmp_path: Path, name: str, policy: str) -> None:
    task = random_costs(small_task(name), seed=6, choices=(0, 1, 3))
    space = StateSpace(task, [task.initial_state])
    for bias in ("none", "detour"):
        folder = tmp_path / bias
        for row in run(folder, task, settings(policy, bias=bias)):
            truth = space.h_star[space.find(State(list(row["state"])))]  # type: ignore[call-overload]
            cost = row["policy_cost"] if row["policy_cost"] is not None else np.inf
            is_bug = bool(cost > truth)
            assert row["verdict"] != "BUG" or is_bug
            assert row["verdict"] != "OPTIMAL" or not is_bug
        with open_store(folder, readonly=True) as store:
            assert [reason for _, _, reason in replay(store) if reason] == []


def test_the_exact_oracle_leaves_nothing_open(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    rows = run(tmp_path / "c", task, settings("noisy:0.3:2+heuristic:ff", "exact"))
    assert rows
    assert {row["verdict"] for row in rows} <= {"BUG", "OPTIMAL"}


def test_jobs_and_batches_do_not_matter(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    chosen = settings("noisy:0.4:1+heuristic:ff")
    expected = run(tmp_path / "a", task, chosen)
    assert run(tmp_path / "b", task, chosen, batch_size=1) == expected
    assert run(tmp_path / "c", task, chosen, jobs=2, batch_size=64) == expected
    assert run(tmp_path / "d", task, chosen, jobs=4) == expected


@pytest.mark.parametrize("oracle", ["lookahead(1)", "undo", "bmo(10)+aras/ehc"])
def test_jobs_do_not_matter_where_runs_are_cut(tmp_path: Path, oracle: str) -> None:
    task = small_task("gripper-4")
    chosen = replace(settings("noisy:0.15:3+optimal", oracle), max_steps=5)
    expected = run(tmp_path / "a", task, chosen)
    assert any(row["verdict"] == "BUG" for row in expected) or oracle == "undo"
    assert run(tmp_path / "b", task, chosen, jobs=2) == expected


def renamed(text: str, names: list[str]) -> Task:
    found = iter(names)
    return Task(re.sub(r"(?m)^op\d+$", lambda _: next(found), text).encode(), name="namesakes")


NAMESAKES = renamed(
    sas(
        [5],
        [0],
        [(0, 4)],
        [
            "0\n1\n0 0 0 1\n1",
            "0\n1\n0 0 0 2\n5",
            "0\n1\n0 0 1 0\n1",
            "0\n1\n0 0 2 0\n1",
            "0\n1\n0 0 2 4\n1",
        ],
    ),
    ["go", "go", "back", "back", "win"],
)


@pytest.mark.parametrize("policy", ["first", "heuristic:ff", *(f"random:{i}" for i in range(6))])
def test_operators_of_one_name_that_differ(tmp_path: Path, policy: str) -> None:
    """The checkers know operators by name only: the one that was meant is among those that they follow."""
    found = run(tmp_path / "a", NAMESAKES, settings(policy, "exact", bias="none"))
    costs = {0: 6, 1: 7, 2: 1, 4: 0}
    for row in found:
        best = costs[row["state"][0]]  # type: ignore[index]
        assert row["verdict"] == ("OPTIMAL" if row["policy_cost"] == best else "BUG")
    with open_store(tmp_path / "a") as store:
        assert [reason for _, _, reason in replay(store) if reason] == []
        store.execute("UPDATE runs SET cost = cost + 1 WHERE outcome != 'goal'")
    with open_store(tmp_path / "a", readonly=True) as store:
        wrong = [reason for _, _, reason in replay(store) if reason]
    assert len(wrong) == sum(row["policy_cost"] is None for row in found)
    assert all("it costs" in reason for reason in wrong)


def test_walks_over_operators_of_one_name_come_back(tmp_path: Path) -> None:
    """Operators of one name, as disjunctive preconditions give them: resuming must follow the walk that was taken."""
    text = sas(
        [5, 2],
        [0, 0],
        [(0, 4)],
        [
            "0\n1\n0 0 0 1\n1",
            "0\n1\n0 0 0 2\n1",
            "0\n1\n0 0 1 3\n1",
            "0\n1\n0 0 2 4\n1",
            "0\n1\n0 0 3 0\n1",
            "0\n1\n0 1 -1 1\n1",
        ],
    )
    task = renamed(text, ["go", "left", "go", "on", "back", "set"])
    chosen = settings("first", "undo, exact", bias="none")
    expected = run(tmp_path / "a", task, chosen)
    folder = tmp_path / "b"
    run(folder, task, chosen)
    with open_store(folder) as store:
        store.execute("DELETE FROM verdicts")
        store.execute("DELETE FROM runs")
        store.execute("DELETE FROM events WHERE kind = 'task finished'")
    with open_store(folder) as store:
        Campaign(store, chosen).run([task])
    assert records(folder) == expected


def test_an_interrupted_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    chosen = settings("noisy:0.4:1+heuristic:ff")
    expected = run(tmp_path / "a", task, chosen)
    stops = 0

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "b"
    store = create_store(folder, chosen.as_dict())
    while True:
        with store:
            try:
                Campaign(store, chosen, progress=stop).run([task])
                break
            except KeyboardInterrupt:
                stops += 1
        store = open_store(folder)
    assert stops > 5
    assert records(folder) == expected


def test_twenty_kills_and_resume_end_with_the_same_records(tmp_path: Path) -> None:
    files = write_instance(generate("blocksworld", blocks=6), tmp_path / "task")
    chance = random.Random(1)

    def start(folder: str, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "misstep", "test", "--out", str(tmp_path / folder), *more]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begun(folder: str) -> bool:
        if not (tmp_path / folder / "run.db").exists():
            return False
        with open_store(tmp_path / folder, readonly=True) as store:
            return bool(store.task_names())

    fresh = [
        *map(str, files),
        "--policy",
        "noisy:0.3:1+heuristic:ff",
        "--pool",
        "300",
        "--oracle",
        ORACLE,
    ]
    assert start("whole", *fresh).wait() in (0, 1)
    process = start("killed", *fresh)
    for _ in range(20):
        time.sleep(0.1 + 0.6 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = start("killed", "--resume") if begun("killed") else start("killed", *fresh)
    assert process.wait() in (0, 1)
    assert json.dumps(records(tmp_path / "killed")) == json.dumps(records(tmp_path / "whole"))


def test_summary_and_remarks(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    run(tmp_path / "c", task, settings("first"))
    with open_store(tmp_path / "c", readonly=True) as store:
        total = summary_of(store)
    assert total.tested == total.bugs["total"] + total.optimal + total.unknown
    assert any("does not solve the initial state (loop)" in text for text in total.remarks)
    chosen = CampaignSettings("first", require_solved=True)
    assert run(tmp_path / "d", task, chosen) == []
