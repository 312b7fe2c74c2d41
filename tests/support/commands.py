"""The command line, called from tests."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from misstep.cli.main import main


def run(*arguments: str | Path) -> int:
    """The exit code of a command in this process: a new interpreter for each of a hundred would take minutes."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def misstep(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same with what it prints."""
    before = Path.cwd()
    os.chdir(cwd or before)
    try:
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            code = run(*arguments)
    finally:
        os.chdir(before)
    words = [str(argument) for argument in arguments]
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def result_of(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    done = misstep(*arguments, "--json")
    assert done.returncode == code, done.stderr
    assert len(done.stdout.splitlines()) == 1
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed
