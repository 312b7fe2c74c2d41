"""Certificates of `misstep prove`, checked from the files alone.

`container` reads the file, `models` checks that an inductive set keeps a policy safe (`starts` lists what it has to
contain), and `planning` that ranks lead a policy to the goal. `check_file` does it for files on the disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath

from misstep.checking.certificates.container import MAGIC, Certificate, read_certificate
from misstep.checking.certificates.models import check_model, listed_files
from misstep.checking.certificates.planning import check_planning
from misstep.checking.certificates.report import CertificateReport
from misstep.checking.errors import CheckError
from misstep.checking.files import read_bytes
from misstep.checking.jani.documents import GIVEN
from misstep.errors import InputFileError

PRISM = (".prism", ".nm", ".pm", ".sm")
# How a model is read if nobody says otherwise.
USUAL: dict[str, object] = {
    "property": None,
    "parameters": {},
    "out_of_bounds": "error",
    "silent": "refuse",
    "scale": "none",
}


def is_certificate(path: Path) -> bool:
    try:
        return read_bytes(path, len(MAGIC)) == MAGIC
    except InputFileError:
        return False


def check_file(
    path: Path, task: Path, progress: Callable[[int, int], None] | None = None
) -> CertificateReport:
    """`task` is MODEL.jani, with its included files in their places, or TASK.sas."""
    certificate = read_certificate(read_bytes(path))
    if certificate.text("world") == "planning":
        return check_planning(certificate, read_bytes(task), progress=progress)
    if task.suffix.lower() in PRISM:
        raise CheckError(
            "this is a PRISM model, and the certificate is about its translation to JANI",
            where=str(task),
            hint="misstep prove MODEL --check FILE translates it again",
        )
    report = check_model(certificate, _files(certificate, task), progress=progress)
    return replace(report, reading=_reading(certificate))


def _files(certificate: Certificate, model: Path) -> list[bytes]:
    """The model of the caller and the files that were read with it, at the same relative paths.

    Only the user's own words are taken from the certificate: any other content in it would be about another model."""
    own = PurePath(certificate.text("task", "path"))
    found, models = [], 0
    for one in listed_files(certificate):
        name, kept = one["name"], one.get("content")
        if isinstance(kept, str) and name == GIVEN:
            found.append(kept.encode())
        elif kept is not None or name == GIVEN:
            raise CheckError(f"the certificate brings the content of {name[:80]!r} along")
        elif PurePath(name) == own:
            models += 1
            found.append(read_bytes(model))
        else:
            found.append(read_bytes(model.parent / os.path.relpath(name, own.parent)))
    if models != 1:
        raise CheckError("the certificate does not list the model among its files")
    return found


def _reading(certificate: Certificate) -> str:
    """How the certificate reads the model, where that is not the usual way: the claim is about nothing else."""
    options = certificate.header["task"]["options"]
    told = [
        f"{key} {json.dumps(value)}"
        for key, value in sorted(options.items())
        if value != USUAL.get(key) and value != GIVEN
    ]
    given = [one["content"] for one in listed_files(certificate) if "content" in one]
    return ", ".join([*told, *(f"property {' '.join(text.split())}" for text in given)])


__all__ = [
    "Certificate",
    "CertificateReport",
    "check_file",
    "check_model",
    "check_planning",
    "is_certificate",
    "read_certificate",
]
