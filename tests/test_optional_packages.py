"""Tests that are skipped without an optional package are run by `make neural` or `make originals`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# gRPC and pypdf are installed for all tests.
SKIPS = re.compile(r"importorskip\(\"(?!grpc\"|pypdf\")|find_spec\(\"torch\"\)")


def is_named(file: str, paths: list[str]) -> bool:
    return any(file == path or file.startswith(f"{path}/") for path in paths)


@pytest.fixture(scope="module")
def paths() -> list[str]:
    """What the two targets name, a file or a folder each."""
    told = [
        "make",
        "--no-print-directory",
        "--eval",
        "told: ; @echo $(NEURAL) $(ORIGINALS)",
        "told",
    ]
    done = subprocess.run(told, cwd=TESTS.parent, capture_output=True, text=True, check=True)
    return [word.partition("::")[0].removeprefix("tests/") for word in done.stdout.split()]


def test_every_test_of_an_optional_package_is_run(paths: list[str]) -> None:
    files = {
        file.relative_to(TESTS).as_posix(): file.read_text() for file in TESTS.rglob("test_*.py")
    }
    skipped = {file for file, text in files.items() if SKIPS.search(text)}
    assert len(skipped) > 30
    assert {file for file in skipped if not is_named(file, paths)} == {
        "soundness/test_jani_momba.py"
    }


def test_every_path_is_there(paths: list[str]) -> None:
    assert [path for path in paths if not (TESTS / path).exists()] == []
    assert not is_named("policies/rules/test_policy.py", paths)
