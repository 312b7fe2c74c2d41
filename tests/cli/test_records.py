"""`misstep records` as a user types it, for tasks and models in the same way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from misstep.cli import output
from support.commands import misstep, result_of

KEYS = [
    "id", "world", "task", "number", "state", "facts", "found", "run", "verdict", "kind", "gap", "radius", "bounds",
    "witness", "oracle", "source", "verdicts", "faults", "family", "contradictions", "effort", "times", "at",
    "fuzzing_bug", "chooser",
]  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks: on one the policy fails, on the other it is costly."""
    folder = tmp_path_factory.mktemp("records")
    for domain, size in (("blocksworld", ["--blocks", "4"]), ("ferry", [])):
        assert misstep("generate", domain, *size, "-o", folder / "suite" / domain).returncode == 0
    options = [
        "--policy",
        "heuristic:ff",
        "--pool",
        "8",
        "--oracle",
        "exact",
        "--unbiased-share",
        "0",
    ]
    result_of("test", "--suite", folder / "suite", *options, "-o", folder / "c", code=1)
    return folder / "c"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    made = misstep("generate", "one-way-line", "--cells", "3", "-o", folder / "line.jani")
    assert made.returncode == 0
    options = ["--policy", "random:1", "--runs", "20"]
    result_of("test", folder / "line.jani", *options, "-o", folder / "c", code=1)
    return folder / "c"


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    done = misstep("records", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("world", ["campaign", "model"])
def test_json_lines_have_the_same_keys_in_both_worlds(
    world: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(world)
    found = lines(folder)
    summary = result_of("test", "--resume", "-o", folder, code=1)
    assert len(found) == summary["tested"] > 5
    assert sum(record["verdict"] == "BUG" for record in found) == summary["bugs"]["total"] > 0
    for record in found:
        assert list(record) == KEYS
        assert record["id"] == f"{record['task']}:{record['number']}"
    assert lines(folder) == found


@pytest.mark.parametrize("world", ["campaign", "model"])
def test_filters(world: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(world)
    everything = lines(folder)
    for verdict in ("BUG", "OPTIMAL", "NOT A BUG", "UNKNOWN"):
        chosen = [record for record in everything if record["verdict"] == verdict]
        assert lines(folder, "--verdict", verdict.lower()) == chosen
    for kind in ("fails", "costly", "unsafe"):
        chosen = [record for record in everything if record["kind"] == kind]
        assert lines(folder, "--kind", kind, "--verdict", "BUG") == chosen
    name = everything[-1]["task"]
    of_task = [record for record in everything if record["task"] == name]
    assert lines(folder, "--task", name) == of_task
    for option, value, message in (
        ("--task", "other", "no task other; expected one of "),
        ("--verdict", "MAYBE", "--verdict is 'MAYBE'; expected BUG, OPTIMAL, NOT A BUG, UNKNOWN"),
        ("--kind", "odd", "--kind is 'odd'; expected fails, costly, crash, fails-all"),
    ):
        done = misstep("records", folder, option, value)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert message in done.stderr


def test_table(campaign: Path, model: Path) -> None:
    for folder in (campaign, model):
        found = lines(folder)
        done = misstep("records", folder)
        assert done.returncode == 0
        rows = [line.split() for line in done.stdout.splitlines()]
        assert rows[0][:3] == ["id", "verdict", "kind"]
        assert [row[0] for row in rows[1:]] == [record["id"] for record in found]
    costly = next(record for record in lines(campaign) if record["kind"] == "costly")
    shown = misstep("records", campaign, "--kind", "costly").stdout.splitlines()[1].split()
    cost, low = str(costly["run"]["cost"]), str(costly["gap"][0])
    assert shown[:5] == [costly["id"], "BUG", "costly", costly["source"] or "-", "goal"]
    assert shown[6] == cost
    assert shown[8] == low


def test_a_reader_that_goes_away_is_no_error(model: Path) -> None:
    command = f"{sys.executable} -m misstep records {model} --json | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["id"] == "line:0"


def test_mistakes_are_one_line(campaign: Path, tmp_path: Path) -> None:
    done = misstep("records", tmp_path, "--json")
    assert (done.returncode, done.stderr.count("\n")) == (30, 1)
    assert "no campaign" in json.loads(done.stdout)["what"]
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "config.toml").write_bytes((campaign / "config.toml").read_bytes())
    (damaged / "run.db").write_bytes((campaign / "run.db").read_bytes()[:-100])
    done = misstep("records", damaged)
    assert (done.returncode, done.stderr.count("\n")) == (31, 1)
    assert "cut off" in done.stderr


@pytest.mark.parametrize("world", ["campaign", "model"])
def test_the_numbers_of_the_papers(world: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(world)
    told = result_of("records", folder, "--metrics")
    assert told["sets"]["tested"] == len(lines(folder))
    assert told["sets"]["bugs"] == len(lines(folder, "--verdict", "BUG")) > 0
    assert json.loads(misstep("records", folder, "--metrics").stdout) == told


def test_a_long_table_comes_before_its_last_rows_are_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MEASURED", 2)
    seen: list[str] = []

    def rows() -> Iterator[tuple[str, str]]:
        yield "p:8", "1"
        yield "p:9", "22"
        seen.append(capsys.readouterr().out)
        yield "p:10", "3"
        yield "a long name", "4444"

    output.print_table(("id", "cost"), rows())
    assert [line.split() for line in seen[0].splitlines()] == [
        ["id", "cost"],
        ["p:8", "1"],
        ["p:9", "22"],
    ]
    first, later = seen[0].splitlines()[1], capsys.readouterr().out.splitlines()
    assert len(later[0]) == len(first)
    assert later[1].split() == ["a", "long", "name", "4444"]
