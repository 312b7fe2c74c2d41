"""`misstep census` of several tasks: in processes, on a cluster, and when one of them fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misstep.cli.main import main
from misstep.errors import BudgetLimitError, InputFormatError, TimeLimitError, ToolError, UsageError
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.pddl.load import load_planning_task
from support.cluster import local_scheduler, needs_dask
from support.jani import TINY_LINE, write

Captured = pytest.CaptureFixture[str]


def misstep(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks"
    for name, instance in (
        ("balls", generate("gripper", balls=2)),
        ("blocks", generate("blocksworld", blocks=3)),
    ):
        write_instance(instance, folder / name)
    return folder


def alone(capsys: Captured, folder: Path, *more: object) -> dict[str, Any]:
    misstep("census", folder, "--json", *more)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_each_task_has_the_numbers_that_it_has_alone(suite: Path, capsys: Captured) -> None:
    policy = ("--policy", "first")
    expected = [
        {**alone(capsys, suite / name, *policy), "task": f"{name}/problem"}
        for name in ("balls", "blocks")
    ]
    assert misstep("census", "--suite", suite, *policy, "--jobs", 2, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    bugs = sum(own["policy"]["bugs"] for own in expected)
    assert bugs > 0
    assert told == {"tasks": expected, "done": 2, "failed": 0, "bugs": bugs}


def test_a_task_that_fails_is_named_and_the_others_go_on(suite: Path, capsys: Captured) -> None:
    (suite / "blocks" / "problem.pddl").write_text("(define (problem x) (:domain")
    assert misstep("census", suite / "balls", suite / "blocks") == InputFormatError.exit_code
    shown = capsys.readouterr()
    assert "balls" in shown.out
    assert "blocks" not in shown.out
    assert "blocks: " in shown.err
    assert "never closed" in shown.err
    assert "1 of 2 tasks have no census" in shown.err


@pytest.mark.parametrize(
    ("more", "code"),
    [(("--max-states", 20), BudgetLimitError), (("--time-limit", 1e-9), TimeLimitError)],
)
def test_limits_are_those_of_each_task(
    suite: Path, capsys: Captured, more: tuple[object, ...], code: Any
) -> None:
    assert misstep("census", "--suite", suite, "--json", *more) == code.exit_code
    told = json.loads(capsys.readouterr().out)
    assert told["failed"] >= 1
    assert {own["exit_code"] for own in told["tasks"] if "error" in own} == {code.exit_code}


SLOW = "import time\ndef act(state):\n    time.sleep(100)\n"


def test_a_policy_that_takes_too_long(suite: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    words = ("census", "--suite", suite, "--policy", f"python:{file}:act", "--time-limit", 0.5)
    assert misstep(*words, "--json") == TimeLimitError.exit_code
    told = json.loads(capsys.readouterr().out)
    assert all("time limit of 0.5 seconds" in own["error"] for own in told["tasks"])


DEADLY = """
import os, signal
def act(state):
    if len(state.values) == {width}:
        os.kill(os.getpid(), signal.SIGKILL)
    return state.operators[0] if state.operators else None
"""


def test_a_task_whose_process_ends(suite: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "deadly.py"
    blocks_of = load_planning_task(suite / "blocks")
    file.write_text(DEADLY.format(width=blocks_of.variable_count))
    code = misstep("census", "--suite", suite, "--policy", f"python:{file}:act", "--json")
    told = json.loads(capsys.readouterr().out)
    balls, blocks = told["tasks"]
    assert "its process ended with the code -9" in blocks["error"]
    assert blocks["exit_code"] == ToolError.exit_code
    assert code == (1 if balls["policy"]["bugs"] else ToolError.exit_code)


def test_models(tmp_path: Path, capsys: Captured) -> None:
    for name in ("one", "two"):
        write(TINY_LINE, folder=tmp_path).rename(tmp_path / f"{name}.jani")
    expected = alone(capsys, tmp_path / "one.jani")
    assert misstep("census", "--suite", tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tasks"] == [{**expected, "task": "one"}, {**expected, "task": "two"}]
    assert misstep("census", "--suite", tmp_path, "--drop-unimportant") == UsageError.exit_code


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no task to count"),
        (("{balls}", "--cluster", "local:2"), "--cluster with one task"),
        (("--suite", "{suite}", "--cluster", "nowhere"), "is no address"),
        (
            ("--suite", "{suite}", "--jobs", "2", "--cluster", "local:2"),
            "both --jobs and --cluster",
        ),
        (("--suite", "{suite}", "--jobs", "0"), "--jobs is 0"),
        (("{balls}", "--suite", "{suite}"), "both a task and a suite"),
        (("--suite", "{suite}", "--goal", "x"), "--goal has no meaning here"),
    ],
)
def test_bad_usage(suite: Path, capsys: Captured, words: tuple[str, ...], says: str) -> None:
    named = [word.format(suite=suite, balls=suite / "balls") for word in words]
    assert misstep("census", *named) == UsageError.exit_code
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1


ONCE = """
import os, signal
from pathlib import Path
def act(state):
    flag = Path({flag!r})
    if not flag.exists():
        flag.touch()
        os.kill(os.getppid(), signal.SIGKILL)  # the worker of dask, and this process with it
        os.kill(os.getpid(), signal.SIGKILL)
    return state.operators[0] if state.operators else None
"""


@needs_dask
def test_a_worker_of_a_cluster_that_is_killed(
    suite: Path, tmp_path: Path, capsys: Captured
) -> None:
    file, flag = tmp_path / "once.py", tmp_path / "flag"
    file.write_text(ONCE.format(flag=str(flag)))
    words = ("census", "--suite", suite, "--policy", f"python:{file}:act", "--json")
    with local_scheduler(2) as (address, _):
        code = misstep(*words, "--cluster", address)
    there = json.loads(capsys.readouterr().out)
    assert flag.exists()
    assert misstep(*words) == code
    assert json.loads(capsys.readouterr().out) == there
    assert there["done"] == 2


def test_files_travel_where_they_are_not(suite: Path, tmp_path: Path) -> None:
    from misstep.experiments.apart import Where, carried
    from misstep.experiments.kinds import run_part

    file = tmp_path / "mine.py"
    file.write_text("def act(state):\n    return state.operators[0] if state.operators else None\n")
    files = [suite / "balls" / name for name in ("domain.pddl", "problem.pddl")]
    spec = f"python:{file}:act"
    payload = {
        "name": "balls",
        "files": [str(own) for own in files],
        "policy": spec,
        "carried": carried(Where(cluster="local:1"), spec, files),
        "inapplicable": None,
        "model": None,
        "max_states": 1000,
        "time_limit": None,
        "memory_limit": None,
        "keep_unimportant": True,
    }
    expected = run_part("census", payload, tmp_path)
    assert expected["counts"]["states"] == 28
    for own in (*files, file):
        own.unlink()
    assert run_part("census", payload, tmp_path) == expected
    lost = run_part("census", {**payload, "carried": []}, tmp_path)
    assert "problem.pddl" in lost["error"] or "domain.pddl" in lost["error"]
