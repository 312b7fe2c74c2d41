"""Read files; every failure becomes an error that names the file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError

MAX_BYTES = 2**31  # of a file


def read_bytes(path: str | os.PathLike[str], first: int | None = None) -> bytes:
    """The content of a file, or its first bytes. What a stranger names may be a pipe, or a device that never ends."""
    where = os.fspath(path)
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise InputFileError("this is not a regular file", where=where)
        with open(path, "rb", opener=_not_waiting) as file:
            # Another process may have put something else in its place.
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputFileError("this is not a regular file", where=where)
            if first is None and found.st_size > MAX_BYTES:
                raise InputFileError(f"the file is larger than {MAX_BYTES:,} bytes", where=where)
            return file.read(found.st_size if first is None else first)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL character in it.
        why = getattr(error, "strerror", None) or error
        raise InputFileError(f"cannot read the file: {why}", where=where) from error


def _not_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read_text(path: str | os.PathLike[str]) -> str:
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputFormatError(
            f"byte 0x{data[error.start]:02x} is not text",
            where=f"{os.fspath(path)}:{line}",
            expected="UTF-8",
        ) from error
