"""Certificates of `misstep prove`, checked from the files alone.

`container` reads the file, `models` checks that an inductive set keeps a policy safe (`starts` lists what it has to
contain), and `planning` that ranks lead a policy to the goal. `check_file` does it for files on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePath

from misstep.checking.certificates.container import MAGIC, Certificate, read_certificate
from misstep.checking.certificates.models import check_model, listed_files
from misstep.checking.certificates.planning import check_planning
from misstep.checking.certificates.report import CertificateReport
from misstep.errors import InputFileError

MAX_BYTES = 2**31  # of a file


def is_certificate(path: Path) -> bool:
    try:
        if not path.is_file():  # opening a pipe that nobody writes to would wait forever
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def check_file(
    path: Path, task: Path, progress: Callable[[int, int], None] | None = None
) -> CertificateReport:
    """`task` is MODEL.jani, with its included files in their places, or TASK.sas."""
    certificate = read_certificate(_content(path))
    if certificate.text("world") == "planning":
        return check_planning(certificate, _content(task), progress=progress)
    return check_model(certificate, _files(certificate, task), progress=progress)


def _files(certificate: Certificate, model: Path) -> list[bytes]:
    """The model and the files that were read with it, at the same relative paths. The user's conditions are kept."""
    own = certificate.text("task", "path")
    found = []
    for one in listed_files(certificate):
        kept = one.get("content")
        if isinstance(kept, str):
            found.append(kept.encode())
            continue
        there = os.path.relpath(one["name"], PurePath(own).parent)
        found.append(_content(model if one["name"] == own else model.parent / there))
    return found


def _content(path: Path) -> bytes:
    """A certificate may come from a stranger and names files, such as a pipe or a device that never ends."""
    try:
        if path.exists() and not path.is_file():
            raise InputFileError("this is not a regular file", where=str(path))
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InputFileError(f"the file is larger than {MAX_BYTES:,} bytes", where=str(path))
        return content
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputFileError(f"cannot read the file: {why}", where=str(path)) from error


__all__ = [
    "Certificate",
    "CertificateReport",
    "check_file",
    "check_model",
    "check_planning",
    "is_certificate",
    "read_certificate",
]
