"""Dominance functions in files.

A file has a header of 88 bytes and a body. The header: 8 bytes `MISSTEPD`; the version (1) and a flag (1: the task is
solvable) as 32-bit integers; the length of the body as a 64-bit integer; the SHA-256 of the task and that of the
body, 32 bytes each. All numbers are little-endian. The body is compressed with zlib; inside are 64-bit integers and
the tables as `core/dominance/function.cpp` describes them.

D is a statement about one encoding of one task, so the digest of the task covers domains, operators with their costs,
and goal. It covers the initial state as well: what cannot be reached from it was pruned. Names are left out.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

from misstep._core import DominanceCore
from misstep.decoding import unpack
from misstep.errors import InputFormatError
from misstep.files import read_bytes, write_bytes
from misstep.tasks.task import Task

MAGIC = b"MISSTEPD"
VERSION = 1
_HEADER = struct.Struct("<8sIIQ32s32s")
_MAX_BYTES = 2**34
_MAX_UNPACKED = 2**36
_KIND = "a dominance function written by misstep"


def task_digest(task: Task) -> bytes:
    """What a dominance function depends on."""
    digest = hashlib.sha256()
    digest.update(repr((task.domain_sizes, task.initial_state.values, sorted(task.goal))).encode())
    for op in range(task.operator_count):
        line = (sorted(task.preconditions(op)), task.effects(op), task.cost(op))
        digest.update(repr(line).encode())
    return digest.digest()


def write_tables(path: Path, task: Task, core: DominanceCore, *, solvable: bool) -> None:
    body = zlib.compress(core.write(), level=1)
    header = _HEADER.pack(
        MAGIC, VERSION, solvable, len(body), task_digest(task), hashlib.sha256(body).digest()
    )
    write_bytes(path, header + body)


def read_tables(path: Path, task: Task) -> tuple[DominanceCore, bool]:
    """The tables and whether the task is solvable."""
    content = read_bytes(path, _MAX_BYTES, _KIND)
    if len(content) < _HEADER.size or not content.startswith(MAGIC):
        raise InputFormatError("not a dominance function", where=str(path), expected=_KIND)
    _, version, solvable, length, task_hash, body_hash = _HEADER.unpack_from(content)
    if version != VERSION:
        raise InputFormatError(
            f"version {version} of the file format", where=str(path), expected=f"version {VERSION}"
        )
    if task_hash != task_digest(task):
        raise InputFormatError(
            f"this dominance function belongs to another task than {task.name}",
            where=str(path),
            expected="the same variables, operators, initial state and goal",
            hint="compute it again",
        )
    body = content[_HEADER.size :]
    if len(body) < length:
        raise InputFormatError(
            f"the file is cut off: {len(body):,} of {length:,} bytes of its tables",
            where=str(path),
            hint="compute it again",
        )
    if len(body) != length or hashlib.sha256(body).digest() != body_hash:
        raise InputFormatError("the tables are damaged", where=str(path), hint="compute it again")
    try:
        return DominanceCore.read(task, unpack(body, _MAX_UNPACKED)), bool(solvable)
    except ValueError as error:
        raise InputFormatError(f"the tables are damaged: {error}", where=str(path)) from None


__all__ = ["read_tables", "task_digest", "write_tables"]
