"""Writes an instance to a folder: both files whole, or an error and no new file."""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path

from misstep.errors import InputFileError
from misstep.tasks.domains.model import Instance


def write_instance(instance: Instance, folder: Path, *, force: bool = False) -> tuple[Path, Path]:
    """Write `domain.pddl` and `problem.pddl`, and return their paths.

    Files that are already there with the same content are left alone; with another content they
    are replaced only if `force` is set.
    """
    domain, problem = folder / "domain.pddl", folder / "problem.pddl"
    contents = {
        domain: instance.domain_pddl.encode(),
        problem: instance.problem_pddl.encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        changed = {path: new for path, new in contents.items() if _read(path) != new}
        if not force:
            _refuse_to_overwrite(changed)
        _replace_all(changed)
    except OSError as error:
        raise InputFileError(
            f"cannot write the instance: {error.strerror or error}",
            where=str(error.filename or folder),
            expected="a folder that can be written to",
            hint="choose another folder",
        ) from error
    return domain, problem


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _refuse_to_overwrite(changed: dict[Path, bytes]) -> None:
    for path in changed:
        if path.exists():
            raise InputFileError(
                "the file exists and differs from the instance",
                where=str(path),
                expected="no such file, or the same content",
                hint="choose another folder, or force overwriting",
            )


def _replace_all(contents: dict[Path, bytes]) -> None:
    # All the text is on disk before the first rename, so a full disk changes nothing.
    staged: dict[Path, Path] = {}
    created: list[Path] = []
    try:
        for path, content in contents.items():
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
            staged[path] = temporary
            temporary.write_bytes(content)
        for path, temporary in staged.items():
            is_new = not path.exists()
            temporary.replace(path)
            if is_new:
                created.append(path)
    except BaseException:
        for leftover in (*staged.values(), *created):
            with contextlib.suppress(OSError):
                leftover.unlink()
        raise
