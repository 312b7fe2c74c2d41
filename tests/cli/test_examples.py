"""The examples run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name", ["test_a_task.py", "test_a_model.py"])
def test_a_script_finds_explains_and_keeps_bugs(name: str, tmp_path: Path) -> None:
    script = EXAMPLES / name
    assert len(script.read_text().splitlines()) <= 25
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "BUG" in done.stdout or "but the policy gets into an unsafe state" in done.stdout
    assert done.stdout.endswith("the same records: True\n")
    assert (tmp_path / "found" / "run.db").is_file()


def test_the_demo_uses_commands_that_exist(tmp_path: Path) -> None:
    """`make demo`, with this interpreter in the place of the installed program."""
    program = tmp_path / "bin" / "misstep"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m misstep "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "copy" / "examples"
    folder.mkdir(parents=True)
    (folder / "demo.sh").write_bytes((EXAMPLES / "demo.sh").read_bytes())
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", folder / "demo.sh"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "Faults:" in done.stdout
    assert "VALID" in done.stdout
