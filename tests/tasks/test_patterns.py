"""Patterns mean what they mean to `glob`, and end also where links lead round in circles."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from misstep.errors import InputFileError
from misstep.tasks import patterns
from misstep.tasks.patterns import files_matching

FILES = (
    *("p1.pddl", "p02.pddl", "domain.pddl", ".hidden.pddl", "[a].pddl"),
    *("a/p1.pddl", "a/b/p02.pddl", "a/b/c/m.jani", "b/a/p1.pddl", ".h/p1.pddl", "a/.h/p1.pddl"),
    *("x y/p1.pddl", "[q]/p1.pddl"),
)
PATTERNS = (
    *("*", "**", "**/*", "*.pddl", "**/*.pddl", "a/**", "a/**/*.pddl", "*/p*.pddl", "**/p0?.pddl"),
    *("**/.h*", "**/a/*.pddl", "./**/*.pddl", "[ab]/*", "**/b/**/*.pddl", "x*/*", "a/../*/*.pddl"),
    *("**/[!p]*.pddl", ".h/*", ".*/*.pddl", "**/nothing*", "[[]q]/*", "p1.pddl/*"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("absolute", [True, False])
def test_as_glob(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, absolute: bool
) -> None:
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / pattern if absolute else Path(pattern)
    expected = glob.glob(os.fspath(path), recursive=True)  # noqa: PTH207
    assert files_matching(path) == sorted(set(map(Path, expected)))


def test_links_in_circles(tmp_path: Path) -> None:
    """Two links to their own folder were 2^40 paths."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "p1.pddl").touch()
    for name in ("x", "y", "z"):
        (tmp_path / name).symlink_to(".")
        (tmp_path / "tasks" / name).symlink_to(tmp_path)
    assert files_matching(tmp_path / "**" / "*.pddl") == [tmp_path / "tasks" / "p1.pddl"]


def test_a_link_to_tasks_elsewhere_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "p1.pddl").touch()
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "link").symlink_to(tmp_path / "elsewhere")
    assert files_matching(tmp_path / "suite" / "**" / "*.pddl") == [
        tmp_path / "suite" / "link" / "p1.pddl"
    ]


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_LOOKED_AT", 10)
    for number in range(20):
        (tmp_path / f"p{number}.pddl").touch()
    with pytest.raises(InputFileError, match="looks at more than 10 files"):
        files_matching(tmp_path / "**" / "*.pddl")


def test_long_patterns() -> None:
    assert files_matching(Path(*["d"] * 1200, "*.pddl")) == []
    with pytest.raises(InputFileError, match="more than 100 parts"):
        files_matching(Path(*["*"] * 1200))
