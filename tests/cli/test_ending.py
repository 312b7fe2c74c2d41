"""The last three lines of a campaign."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from misstep.campaigns.summary import Summary, _cannot_tell
from misstep.cli.ending import three_lines
from support.commands import misstep, result_of

CLEAN = Summary(
    "found", "planning", "first", ["p24"], finished=True, tasks=1, states=30, tested=30, runs=30, optimal=30
)  # fmt: skip


def last(summary: Summary, word: str = "") -> tuple[str, str, str]:
    found, worst, then = three_lines(summary, word)
    assert (found[:7], worst[:7], then[:7]) == ("found  ", "worst  ", "next   ")
    return found[7:], worst[7:], then[7:]


def test_nothing_was_found() -> None:
    assert last(CLEAN, " --policy x") == (
        "no bug in 30 tested states on 1 task; 30 optimal, 0 unknown",
        "none",
        "misstep test --resume --out found --pool 60 --policy x",
    )


def test_bugs() -> None:
    bugs = {"total": 3, "fails": 1, "costly": 2}
    worst = {"id": "a b:7", "sentence": "the policy spends 9, where 5 is enough"}
    found = replace(CLEAN, bugs=bugs, optimal=27, worst=worst, campaign="my found")
    assert last(found) == (
        "3 bugs (1 fails, 2 costly) in 30 tested states on 1 task; 27 optimal, 0 unknown",
        "a b:7: the policy spends 9, where 5 is enough",
        "misstep explain 'my found' 7",
    )
    assert last(replace(found, tasks=2))[2] == "misstep explain 'my found' 'a b:7'"


@pytest.mark.parametrize(
    ("changed", "worst", "then"),
    [
        (
            {"unknown": 4, "optimal": 26},
            "none is proven; 4 states may still be bugs",
            "misstep judge found --oracle 'astar(evaluations=100000)'",
        ),
        (
            {"unknown": 4, "oracles": ["p24", "astar(evaluations=100000)"]},
            "none is proven; 4 states may still be bugs",
            "misstep judge found --oracle 'astar(evaluations=1000000)'",
        ),
        (
            {"unknown": 1, "optimal": 29},
            "none is proven; 1 state may still be a bug",
            "misstep judge found --oracle 'astar(evaluations=100000)'",
        ),
        (
            {"flaky": 2},
            "2 states without a verdict, as the policy declares that it is not deterministic",
            "misstep records found --verdict FLAKY",
        ),
        (
            {"flaky": 1, "contradictions": 1},
            "1 state where the policy contradicts itself, so that nothing is proven",
            "misstep records found --verdict FLAKY",
        ),
        (
            {"crashes": 20, "timeouts": 10},
            "the policy answered in no state, so nothing is known about it",
            "misstep records found",
        ),
        ({"finished": False, "limit": "time"}, "none", "misstep test --resume --out found"),
        ({"world": "model", "runs": 50}, "none", "misstep test --resume --out found --runs 100"),
        (
            {"world": "model", "runs": 50, "tested": 0, "states": 0},
            "none",
            "misstep test --resume --out found --runs 100",
        ),
        (
            {"tested": 0, "states": 0, "finished": False},
            "nothing is known yet",
            "misstep test --resume --out found",
        ),
    ],
)
def test_what_else_may_be(changed: dict[str, object], worst: str, then: str) -> None:
    assert last(replace(CLEAN, **changed))[1:] == (worst, then)  # type: ignore[arg-type]


def test_runs_that_all_stay_safe() -> None:
    """There is nothing to judge then, but something was tested."""
    safe = replace(CLEAN, world="model", runs=50, tested=0, states=0, crashes=3)
    assert last(safe)[0] == "no unsafe run among 50 runs on 1 task"
    assert last(replace(safe, crashes=50))[0] == "nothing was tested on 1 task"
    unsafe = last(replace(safe, outcomes={"unsafe": 2}))  # a limit came before they were judged
    assert unsafe[:2] == ("nothing was tested on 1 task", "nothing is known yet")


def test_what_the_worst_case_cannot_tell_needs_states_that_were_decided(tmp_path: Path) -> None:
    """All runs get unsafe on ice; before a state is decided this says nothing."""
    model = tmp_path / "m.jani"
    options = ("--cells", "6", "--packages", "2", "--ice", "3", "--drop")
    misstep("generate", "one-way-line", *options, "-o", model)
    test = ("test", model, "--policy", "first", "--runs", "5")
    note = "does not distinguish policies"
    assert note in misstep(*test, "-o", tmp_path / "all").stderr
    counts = {"runs": 5, "bugs": {"total": 0}, "unknown": 0, "flaky": 0}
    totals = {"outcomes": {"unsafe": 5}, **counts}
    assert _cannot_tell({**totals, "tested": 9})
    assert not _cannot_tell({**totals, "tested": 0})
    assert not _cannot_tell({**totals, "tested": 9, "flaky": 9})


def test_a_limit_is_named() -> None:
    assert last(replace(CLEAN, finished=False, limit="time"))[0].endswith(
        "; not finished, the time limit was reached"
    )


def test_a_campaign_ends_with_them_and_the_next_command_works(tmp_path: Path) -> None:
    misstep("generate", "gripper", "--balls", "3", "-o", tmp_path / "task")
    folder = tmp_path / "with blank"
    done = misstep("test", tmp_path / "task", "--policy", "first", "--pool", "6", "--out", folder)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["found", "worst", "next"]
    assert lines[-4] == ""
    assert any(line.startswith("tested ") for line in lines)  # the numbers are still there
    command = shlex.split(lines[-1])
    assert command[:3] == ["next", "misstep", "explain"]
    explained = misstep(*command[2:])
    assert explained.returncode == 0
    assert lines[-2].split()[1].rstrip(":") in explained.stdout
    again = misstep("test", "--resume", "--out", folder)
    assert again.stdout.splitlines()[-3:] == lines[-3:]
    summary = result_of("test", "--resume", "--out", folder, code=1)
    assert lines[-2] == f"worst  {summary['worst']['id']}: {summary['worst']['sentence']}"


def test_the_next_command_works_where_nothing_was_found(tmp_path: Path) -> None:
    misstep("generate", "gripper", "--balls", "2", "-o", tmp_path / "task")
    folder = tmp_path / "found"
    done = misstep("test", tmp_path / "task", "--policy", "optimal", "--pool", "4", "--out", folder)
    assert done.returncode == 0
    command = shlex.split(done.stdout.splitlines()[-1])[1:]
    grown = misstep(*command[1:])
    assert grown.returncode == 0
    assert "in 8 tested states" in grown.stdout


def test_a_risk_that_can_be_avoided_is_the_worst_where_there_is_no_bug() -> None:
    risk = {
        "states": 30,
        "avoidable": 2,
        "id": "line:4",
        "most": 0.9,
        "policy": [1.0, 1.0],
        "least": [0.1, 0.1],
    }
    found = replace(CLEAN, world="model", risk=risk, policy="python:mine.py:act x")
    assert last(found)[1:] == (
        "line:4: no bug in the worst case, but the risk is 1, where 0.1 is possible",
        "misstep risk MODEL --policy 'python:mine.py:act x'",
    )
    none = replace(found, risk={**risk, "avoidable": 0})
    assert last(none)[1:] == ("none", "misstep test --resume --out found --runs 60")
