"""`misstep records` as a user types it."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from misstep.campaigns.store import create_store
from misstep.cli.main import main
from support.campaigns import fill


def misstep(*arguments: str | Path) -> tuple[int, str, str]:
    with (
        redirect_stdout(StringIO()) as out,
        redirect_stderr(StringIO()) as err,
        pytest.raises(SystemExit) as stop,
    ):
        main([str(argument) for argument in arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code, out.getvalue(), err.getvalue()


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    with create_store(tmp_path / "c", {"seed": 1}) as store:
        fill(store, 12, 9)
    return tmp_path / "c"


def test_json_lines(campaign: Path, tmp_path: Path) -> None:
    code, out, err = misstep("records", campaign, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err, len(lines)) == (0, "", 9)
    assert list(lines[0]) == [
        "task", "state", "facts", "walk", "outcome", "policy_cost", "verdict", "kind", "gap",
        "upper_bound", "lower_bound", "oracle", "witness", "derivation", "seconds",
        "fuzzing_bug",
    ]  # fmt: skip
    assert [line["state"] for line in lines] == [[0, i] for i in range(9)]
    assert lines[0]["gap"] == [None, None]
    with create_store(tmp_path / "again", {"seed": 1}) as store:
        fill(store, 12, 9)
    assert misstep("records", tmp_path / "again", "--json")[1] == out


def test_filters(campaign: Path) -> None:
    bugs = misstep("records", campaign, "--json", "--verdict", "bug")[1].splitlines()
    assert [json.loads(line)["state"][1] for line in bugs] == [0, 3, 6]
    assert misstep("records", campaign, "--json", "--task", "counter")[1].count("\n") == 9
    code, _, err = misstep("records", campaign, "--task", "other")
    assert (code, err.count("\n")) == (2, 1)
    assert "no task other; expected one of counter" in err
    code, _, err = misstep("records", campaign, "--verdict", "MAYBE")
    assert (code, err) == (2, "misstep: no verdict 'MAYBE'; expected BUG, OPTIMAL, UNKNOWN\n")


def test_table(campaign: Path) -> None:
    code, out, _ = misstep("records", campaign)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == [
        "task",
        "verdict",
        "kind",
        "oracle",
        "state",
        "cost",
        "bounds",
        "gap",
        "seconds",
    ]
    assert rows[1] == ["counter", "BUG", "fails", "ehc", "0", "loop", "0..2", "inf", "0.000"]
    assert rows[3] == ["counter", "UNKNOWN", "-", "-", "2", "5", "0..inf", "0..inf", "0.500"]


def test_mistakes_are_one_line(campaign: Path, tmp_path: Path) -> None:
    code, out, err = misstep("records", tmp_path, "--json")
    assert (code, err.count("\n")) == (30, 1)
    assert "no campaign" in json.loads(out)["what"]
    path = campaign / "run.db"
    path.write_bytes(path.read_bytes()[:-100])
    code, _, err = misstep("records", campaign)
    assert (code, err.count("\n")) == (31, 1)
    assert "cut off" in err
