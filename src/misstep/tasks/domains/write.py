"""Writes generated files: all of them whole, or an error and no new file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.errors import InputFileError
from misstep.files import holds, reason, write_all

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
        changed = {path: new for path, new in contents.items() if not holds(path, new)}
    except (OSError, InputFileError) as error:
        if isinstance(error, OSError):
            why, where = reason(error), error.filename
        else:
            why, where = error.what, error.where
        raise InputFileError(
            f"cannot write the {kind}: {why}",
            where=str(where or next(iter(contents))),
            expected="a folder that can be written to",
            hint="choose another folder",
        ) from error
    if not force:
        _refuse_to_overwrite(changed, kind)
    write_all(changed)


def _refuse_to_overwrite(changed: dict[Path, bytes], kind: str) -> None:
    for path in changed:
        if path.exists():
            raise InputFileError(
                f"the file exists and differs from the {kind}",
                where=str(path),
                expected="no such file, or the same content",
                hint="choose another place, or overwrite it (--force; in Python force=True)",
            )
