"""Write exported files atomically, and never over a file that differs unless the user allows it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from misstep.errors import InputFileError
from misstep.files import holds, is_there, reason, write_all


def write_files(contents: dict[Path, bytes], *, force: bool) -> list[Path]:
    """Write files and their folders; if one file exists and differs, write none of them unless `force` is set."""
    for path, content in contents.items():
        if not holds(path, content) and not force and path.exists():
            raise InputFileError(
                "the file exists and differs from what would be written",
                where=str(path),
                expected="no such file, or the same content",
                hint="choose another place, or give --force (in Python: force=True)",
            )
    write_together(contents)
    return list(contents)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files and their folders. If that fails, no file is replaced, and no new file or folder is left behind."""
    folders = {above for path in contents for above in path.parents if not is_there(above)}
    try:
        for path in contents:
            make_folder(path.parent)
        write_all(contents)
    except BaseException:
        for folder in sorted(folders, reverse=True):  # the inner ones first
            with suppress(OSError):
                folder.rmdir()
        raise


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputFileError(
            f"cannot make the folder: {reason(error)}", where=str(folder)
        ) from error


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[TextIO]:
    """A text file to write to; it appears when it is complete. An existing file is only replaced with `force`."""
    try:
        there = path.exists()
    except (OSError, ValueError) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise InputFileError(f"cannot write: {said}", where=str(path)[:200]) from error
    if there and not force:
        raise InputFileError(
            "the file exists",
            where=str(path),
            expected="no such file",
            hint="choose another place, or give --force (in Python: force=True)",
        )
    if there and not path.is_file():
        raise InputFileError("this is not a regular file", where=str(path))
    make_folder(path.parent)
    temporary = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with temporary.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(path)) from error
    finally:
        with suppress(OSError):  # what cannot be written may not be removable either
            temporary.unlink(missing_ok=True)


__all__ = ["make_folder", "new_file", "write_files", "write_together"]
