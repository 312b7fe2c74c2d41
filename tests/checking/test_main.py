"""The command line: one line of output and an exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from misstep.checking.__main__ import main


@pytest.fixture
def task(tmp_path: Path, gripper_sas: str) -> str:
    path = tmp_path / "task.sas"
    path.write_text(gripper_sas)
    return str(path)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan"
    path.write_text("(pick ball rooma)\n(move rooma roomb)\n(drop ball roomb)\n; cost = 4\n")
    return str(path)


def test_valid(task: str, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([task, plan, "--cost", "4", "--state", "0 0"]) == 0
    assert capsys.readouterr() == ("VALID cost 4\n", "")


def test_invalid(task: str, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([task, plan, "--state", "0,1"]) == 1
    assert capsys.readouterr() == (
        "INVALID step 1 (pick ball rooma): requires Atom at(ball, rooma), "
        "but Atom at(ball, roomb) holds\n",
        "",
    )


def test_wrong_cost(task: str, plan: str) -> None:
    assert main([task, plan, "--cost", "3"]) == 1


def test_errors(
    task: str, plan: str, tmp_path: Path, everything: str, capsys: pytest.CaptureFixture[str]
) -> None:
    axioms = tmp_path / "axioms.sas"
    axioms.write_text(everything)
    assert main([task, str(tmp_path / "missing")]) == 30
    assert main([plan, plan]) == 31
    assert main([task, task]) == 31
    assert main([str(axioms), plan]) == 32
    assert main([task, plan, "--state", "0 x"]) == 2
    assert main([task, plan, "--state", "0"]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert len(errors.splitlines()) == 6


def test_bad_usage() -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])


def test_it_runs_as_a_program(task: str, plan: str) -> None:
    command = [sys.executable, "-m", "misstep.checking", task, plan]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "VALID cost 4\n", "")
