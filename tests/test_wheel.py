"""The wheel installs into an empty environment without a compiler, and the demo runs there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What the demo calls beside Misstep; there is no compiler and no cmake among it.
PROGRAMS = ("bash", "cat", "dirname", "rm")


@pytest.mark.wheel
def test_the_demo_runs_without_a_compiler(tmp_path: Path) -> None:
    (wheel,) = (ROOT / "dist").glob("misstep-*.whl")
    assert "-abi3-" in wheel.name
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    path = f"{tmp_path / 'empty' / 'bin'}:{tools}"
    for compiler in ("cc", "gcc", "g++", "c++", "clang++", "cmake", "ninja", "make"):
        assert shutil.which(compiler, path=path) is None
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = path

    def run(*words: str | Path, cwd: Path) -> str:
        done = subprocess.run(
            words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    run("pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path)
    # Away from the source, so that nothing but the wheel can be found.
    (tmp_path / "examples").mkdir()
    demo = shutil.copy(ROOT / "examples" / "demo.sh", tmp_path / "examples")
    told = run("bash", demo, cwd=tmp_path)
    assert "VALID" in told
    assert "Faults:" in told
    where = run("python", "-c", "import misstep; print(misstep.__file__)", cwd=tmp_path)
    assert str(tmp_path / "empty") in where
