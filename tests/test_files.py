"""Files are written all or nothing, and nothing but files is written over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.checking.files import read_text
from misstep.errors import InputFileError
from misstep.files import read_bytes, write_all, write_bytes
from misstep.policies.user_code import file_digest
from support.disk import files_up_to


def test_reading_takes_no_more_memory_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = bytes(range(256)) * 10_000
    path.write_bytes(content)
    assert read_bytes(path, 2**62, "a file") == content  # more than any machine has
    assert read_bytes(path, len(content), "a file") == content
    with pytest.raises(InputFileError, match="larger than"):
        read_bytes(path, len(content) - 1, "a file")


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old", b"new", b""):
        write_bytes(path, content)
        assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("failing", [1, 2])
def test_files_that_belong_together_are_all_written_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Ctrl-C in the middle, too."""
    (tmp_path / "old").write_bytes(b"old")
    files = {tmp_path / "new": b"new", tmp_path / "old": b"x" * 5000}
    with files_up_to(4096), pytest.raises(InputFileError, match="old: cannot write"):
        write_all(files)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
    renames, rename = 0, Path.replace

    def stopped(source: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames == failing:
            raise KeyboardInterrupt
        return rename(source, target)

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_all(files)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_links_are_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    write_bytes(link, b"first")
    write_bytes(link, b"second")
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"second"


def test_what_is_no_file_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputFileError, match="not a regular file"):
        write_bytes(pipe, b"x")
    assert pipe.is_fifo()
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path(), Path(".."), Path("/")):
        with pytest.raises(InputFileError, match="this is a folder"):
            write_bytes(folder, b"x")
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(InputFileError, match="in a circle"):
        write_bytes(circle, b"x")
    with pytest.raises(InputFileError, match="not a path"):
        write_bytes(Path("a\0b"), b"x")
    with pytest.raises(InputFileError, match="cannot write"):
        write_bytes(tmp_path / "missing" / "file", b"x")
    with pytest.raises(InputFileError, match="cannot write"):
        write_bytes(tmp_path / ("x" * 300), b"x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "pipe"]


def swapped_before_opening(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process is faster: what was checked is a pipe when it is opened."""
    really = os.open

    def faster(file: str, flags: int, mode: int = 0o777) -> int:
        if not path.is_fifo():
            path.unlink()
            os.mkfifo(path)
        return really(file, flags, mode)

    monkeypatch.setattr(os, "open", faster)


@pytest.mark.parametrize(
    "read", [lambda path: read_bytes(path, 100, "a file"), read_text, file_digest]
)
def test_a_file_that_becomes_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"text")
    swapped_before_opening(path, monkeypatch)
    with pytest.raises(InputFileError, match="not a regular file"):
        read(path)


def test_links_inside_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, link = tmp_path / "file", tmp_path / "link"
    target.write_bytes(b"of the user")
    link.symlink_to(target)
    with pytest.raises(InputFileError, match="symbolic link"):
        read_bytes(link, 100, "a file", follow=False)
    found = target.stat()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", lambda *_, **__: found)  # so that the link comes later
        with pytest.raises(InputFileError, match="symbolic link"):
            read_bytes(link, 100, "a file", follow=False)
    write_bytes(link, b"ours", follow=False)
    assert not link.is_symlink()
    assert (link.read_bytes(), target.read_bytes()) == (b"ours", b"of the user")
