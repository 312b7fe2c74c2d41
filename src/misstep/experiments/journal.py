"""Results of parts of a unit, a line of JSON for each, so that a unit that was killed does not repeat them.

The folder may come from a stranger: the file is not followed if it is a link, its size is limited, and damage is an
error of the input.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from misstep.decoding import parse_json
from misstep.errors import InputFileError, InputFormatError
from misstep.files import open_inside, read_bytes, reason, refuse_link

MAX_BYTES = 1 << 28


def read_journal(file: Path) -> dict[str, Any]:
    """The stored results. An incomplete last line after a kill is removed."""
    refuse_link(file)
    if not file.exists():
        return {}
    content = read_bytes(file, MAX_BYTES, "the results of a unit", follow=False)
    whole = content[: content.rfind(b"\n") + 1]
    found: dict[str, Any] = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            key, value = parse_json(line)
            if not isinstance(key, str):
                raise TypeError
        except (ValueError, TypeError) as error:
            raise InputFormatError(
                "this is not the result of a part of a unit",
                where=f"{file}:{number}",
                hint="remove the file: the unit is then computed again",
            ) from error
        found[key] = value
    if whole != content:
        _write(file, os.O_WRONLY, len(whole), b"")
    return found


def add_to_journal(file: Path, key: str, value: Any) -> None:
    _write(
        file,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        None,
        json.dumps([key, value]).encode() + b"\n",
    )


def _write(file: Path, flags: int, size: int | None, more: bytes) -> None:
    try:
        with os.fdopen(open_inside(file, flags), "ab") as out:
            if size is not None:
                out.truncate(size)
            out.write(more)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(file)) from error


__all__ = ["add_to_journal", "read_journal"]
