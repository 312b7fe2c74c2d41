"""Files are written all or nothing, and nothing but files is written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from misstep.errors import InputFileError
from misstep.files import read_bytes, write_bytes


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
