"""Read a text file; every failure becomes an error that names the file."""

from __future__ import annotations

import os
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError


def read_text(path: str | os.PathLike[str]) -> str:
    try:
        # Opening a pipe would wait forever, and a device may never end.
        if Path(path).exists() and not Path(path).is_file():
            raise InputFileError("this is not a regular file", where=os.fspath(path))
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL character in it.
        why = getattr(error, "strerror", None) or error
        raise InputFileError(f"cannot read the file: {why}", where=os.fspath(path)) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputFormatError(
            f"byte 0x{data[error.start]:02x} is not text",
            where=f"{os.fspath(path)}:{line}",
            expected="UTF-8",
        ) from error
