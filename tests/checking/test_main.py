"""The command line: one line of output and an exit code."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from misstep.checking.__main__ import main
from support import jani
from support.stored_campaigns import saved, stored_model


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


def test_a_valid_plan_has_exit_code_0(
    task: str, plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([task, plan, "--cost", "4", "--state", "0 0"]) == 0
    assert capsys.readouterr() == ("VALID cost 4\n", "")


def test_an_invalid_plan_has_exit_code_1(
    task: str, plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([task, plan, "--state", "0,1"]) == 1
    assert capsys.readouterr() == (
        "INVALID step 1 (pick ball rooma): requires Atom at(ball, rooma), "
        "but Atom at(ball, roomb) holds\n",
        "",
    )


def test_a_wrong_cost_is_invalid(task: str, plan: str) -> None:
    assert main([task, plan, "--cost", "3"]) == 1


def test_each_kind_of_error_has_its_exit_code(
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


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])


def test_it_runs_as_a_program(task: str, plan: str) -> None:
    command = [sys.executable, "-m", "misstep.checking", task, plan]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "VALID cost 4\n", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small campaign."""
    connection = stored_model(jani.task(jani.TINY_LINE), runs=5)
    return saved(connection, tmp_path_factory.mktemp("campaign") / "found")


def test_a_right_campaign_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("checked: ")
    assert lines[-1] == "VALID"
    assert main([str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["valid"], report["problems"]) == (True, [])
    assert report["checked"]["strategies"] > 0
    assert report["not_checked"]["losses"]["count"] > 0


def test_a_campaign_with_a_wrong_record(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "forged"))
    with closing(sqlite3.connect(copy / "run.db")) as connection:
        connection.execute("UPDATE strategies SET content = x'00112233' WHERE number = 1")
        connection.commit()
    assert main([str(copy)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("model:1: oracle localfix: strategy 1: compressed data are damaged")
    assert out[-1].startswith("INVALID: 1 of ")
    assert main([str(copy), "--json"]) == 1
    ((problem),) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["record"] == "model:1"


def test_folders_that_are_not_a_campaign_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 30
    assert main([str(tmp_path / "missing")]) == 2
    assert main([str(folder), "--cost", "3"]) == 2
    (tmp_path / "run.db").write_bytes(b"no database" * 100)
    assert main([str(tmp_path)]) == 31
    shutil.copy(folder / "run.db", tmp_path)
    data = bytearray((tmp_path / "run.db").read_bytes())
    data[4096:8192] = b"\xff" * 4096
    (tmp_path / "run.db").write_bytes(data)
    assert main([str(tmp_path), "--json"]) == 31
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 5
    assert json.loads(errors[-1])["where"] == str(tmp_path)


def test_a_campaign_that_is_being_written_can_be_checked(folder: Path, tmp_path: Path) -> None:
    """Records in the write-ahead log count, and nothing is written to the folder."""
    copy = Path(shutil.copytree(folder, tmp_path / "busy"))
    with closing(sqlite3.connect(copy / "run.db")) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE verdicts SET kind = 'fails' WHERE number = 1")
        connection.commit()
        connection.execute("DELETE FROM verdicts")  # not committed
        assert main([str(copy)]) == 1
        before = {path.name: path.read_bytes() for path in copy.iterdir()}
        assert main([str(copy)]) == 1
        assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_a_folder_without_write_permission_can_be_checked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite cannot share the database there, so it is read as it is, or a copy of it with its log."""
    monkeypatch.setattr("misstep.checking.campaign._shared", lambda _: None)
    assert main([str(folder)]) == 0
    copy = Path(shutil.copytree(folder, tmp_path / "busy"))
    with closing(sqlite3.connect(copy / "run.db")) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE verdicts SET kind = 'fails' WHERE number = 1")
        connection.commit()
        assert main([str(copy)]) == 1
    assert [path.name for path in copy.iterdir()] == ["run.db"]


def test_a_campaign_is_checked_without_the_native_core(folder: Path) -> None:
    """In a process where it cannot be imported, nor anything else of misstep."""
    program = (
        "import sys\n"
        "for name in ('misstep._core', 'numpy', 'misstep.tasks', 'misstep.campaigns'):\n"
        "    sys.modules[name] = None\n"
        "from misstep.checking.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "VALID", "")
