"""Writes generated files: all of them whole, or an error and no new file."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.errors import InputFileError
from misstep.files import reason, write_all

if TYPE_CHECKING:
    from misstep.tasks.domains.model import Instance


def write_instance(instance: Instance, folder: Path, *, force: bool = False) -> tuple[Path, Path]:
    """As `Instance.write`."""
    return instance.write(folder, force=force)


def write_generated(texts: Mapping[Path, str], kind: str, *, force: bool = False) -> None:
    """Write the files, and the folders they are to be in."""
    contents = {path: text.encode() for path, text in texts.items()}
    try:
        for path in contents:
            path.parent.mkdir(parents=True, exist_ok=True)
        changed = {path: new for path, new in contents.items() if not _holds(path, new)}
        if not force:
            _refuse_to_overwrite(changed, kind)
        write_all(changed)
    except OSError as error:
        raise InputFileError(
            f"cannot write the {kind}: {reason(error)}",
            where=str(error.filename or next(iter(contents))),
            expected="a folder that can be written to",
            hint="choose another folder",
        ) from error


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file has this content. One of another size is not read, which could be a pipe or never end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file", str(path))
    return path.exists() and path.stat().st_size == len(content) and path.read_bytes() == content


def _refuse_to_overwrite(changed: dict[Path, bytes], kind: str) -> None:
    for path in changed:
        if path.exists():
            raise InputFileError(
                f"the file exists and differs from the {kind}",
                where=str(path),
                expected="no such file, or the same content",
                hint="choose another place, or overwrite it (--force; in Python force=True)",
            )
