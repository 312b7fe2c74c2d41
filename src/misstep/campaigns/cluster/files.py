"""The files of a policy, and how they get to a worker.

The content of the files is sent once to each worker. A worker that has the same file under the same name reads that
one; on every other worker the content is written into a folder of the process, and the spec names the copy. So a worker
never reads another version of a file than the coordinator did.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.files import read_bytes
from misstep.policies.identity import IN_MEMORY

MOST_BYTES = 2**30  # of all files of a policy together
# Where a name may begin and end in a spec, such as `python:FILE.py:NAME?model=FILE` or `noisy:0.1+KIND:FILE`.
_BORDER = re.compile(r"[:+?&=, ]")


@dataclass(frozen=True)
class FileCopy:
    """A file as the coordinator has it."""

    path: str  # absolute
    named: str  # as the spec names it; empty where only other files of the policy do
    digest: str
    content: bytes


def check_policy(policy: object) -> str:
    """The spec of a policy that can be sent; an error for one that exists only in this process."""
    if isinstance(policy, str) and not policy.startswith(f"{IN_MEMORY} "):
        return policy
    name = policy if isinstance(policy, str) else getattr(policy, "name", type(policy).__name__)
    raise UsageError(
        f"the policy {name!s:.200} exists in this process only and cannot be sent to other machines",
        expected="a policy that a spec names",
        hint="put it into a file and name it python:FILE.py:NAME, save it and name the file (see misstep list), "
        "or use processes of this machine (--jobs)",
    )


def copies(spec: str, known: Mapping[str, str]) -> tuple[FileCopy, ...]:
    """The files of a policy: those that the spec names, and those that its code is known to need, by digest."""
    named = {str(Path(text).resolve()): text for text in files_in(spec)}
    found = []
    left = MOST_BYTES
    for path in dict.fromkeys((*named, *known)):
        content = read_bytes(Path(path), left + 1, "a file of the policy")
        left -= len(content)
        if left < 0:
            raise UnsupportedError(
                "the files of the policy are too large to be sent to workers",
                where=path,
                expected=f"at most {MOST_BYTES // 2**20} MB",
            )
        found.append(
            FileCopy(path, named.get(path, ""), hashlib.sha256(content).hexdigest(), content)
        )
    return tuple(found)


def files_in(spec: str) -> Iterable[str]:
    """The names of files in a spec, longest first: any part between two borders that is a file here."""
    borders = [match.start() for match in _BORDER.finditer(spec)]
    begins, ends = [0, *(at + 1 for at in borders)], [*borders, len(spec)]
    runs = any(f"{kind}:" in spec for kind in ("exec", "program", "command"))
    parts = {spec[begin:end] for begin in begins for end in ends if begin < end}
    for text in sorted(parts, key=len, reverse=True):
        try:
            # A program is not a file of the policy: it must be installed on the worker.
            if Path(text).is_file() and not (runs and os.access(text, os.X_OK)):
                yield text
        except (OSError, ValueError):
            continue


def at_hand(spec: object, files: Iterable[FileCopy], folder: str) -> object:
    """The spec with copies in the folder, unless this machine has the same files under the same names."""
    own = list(files)
    if not isinstance(spec, str) or not own or all(map(_is_here, own)):
        return spec
    root = os.path.commonpath([Path(file.path).parent for file in own])
    for file in own:
        place = Path(folder, Path(file.path).relative_to(root))
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)
        except OSError as error:
            raise InputFileError(
                f"cannot write a copy of the policy's file {file.path} on a worker: {error.strerror}",
                where=str(place),
            ) from error
        if hashlib.sha256(place.read_bytes()).hexdigest() != file.digest:
            raise InputFormatError("the copy of the policy's file is damaged", where=str(place))
        if file.named:
            spec = _renamed(spec, file.named, str(place))
    return spec


def _renamed(spec: str, old: str, new: str) -> str:
    return re.sub(rf"(?:(?<=[:+?&=, ])|^){re.escape(old)}(?=[:+?&=, ]|$)", lambda _: new, spec)


def _is_here(file: FileCopy) -> bool:
    for path in {file.path, file.named or file.path}:
        try:
            if hashlib.sha256(Path(path).read_bytes()).hexdigest() != file.digest:
                return False
        except OSError:
            return False
    return True


__all__ = ["FileCopy", "at_hand", "check_policy", "copies", "files_in"]
