"""Instances on disk are whole files or none, and nothing is overwritten silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.errors import InputFileError
from misstep.tasks.domains import generate, write_instance

SMALL, LARGE = generate("gripper", balls=2), generate("gripper", balls=3)


def test_both_files_are_written_into_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    domain, problem = write_instance(SMALL, folder)
    assert domain.read_bytes() == SMALL.domain_pddl.encode()
    assert problem.read_bytes() == SMALL.problem_pddl.encode()
    assert sorted(folder.iterdir()) == [domain, problem]


def test_writing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    _, problem = write_instance(SMALL, tmp_path)
    before = problem.stat()
    write_instance(SMALL, tmp_path)
    assert problem.stat().st_ino == before.st_ino


def test_a_different_file_is_kept_unless_forced(tmp_path: Path) -> None:
    _, problem = write_instance(SMALL, tmp_path)
    with pytest.raises(InputFileError, match=r"problem\.pddl: the file exists and differs"):
        write_instance(LARGE, tmp_path)
    assert problem.read_text() == SMALL.problem_pddl
    write_instance(LARGE, tmp_path, force=True)
    assert problem.read_text() == LARGE.problem_pddl


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputFileError, match="taken: cannot write the instance"):
        write_instance(SMALL, tmp_path / "taken")


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    renames = 0
    rename = Path.replace

    def full_disk(source: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames == failing:
            raise OSError(28, "the disk is full", str(target))
        return rename(source, target)

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(InputFileError, match="the disk is full"):
        write_instance(SMALL, tmp_path)
    assert list(tmp_path.iterdir()) == []
