"""The source of a task as a campaign stores it: its files, compressed, so that it can be rebuilt from the database."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from misstep.decoding import parse_json, unpack
from misstep.errors import UnsupportedError

# The largest task of the planning competitions that we know has 990,000 operators: 115 MB here, and 7 million lines. A
# few kilobytes of compressed data could stand for much more, which would take gigabytes and minutes to read.
MAX_BYTES = 2**28
MAX_LINES = 25_000_000  # of a SAS file
MAX_MEMBERS = 1_000_000  # files and settings


def packed_source(source: dict[str, Any]) -> bytes:
    """The source as it is stored; an error if nobody would read it again."""
    files = {name: base64.b64encode(text).decode() for name, text in source["files"].items()}
    text = json.dumps({**source, "files": files}).encode()
    if len(text) > MAX_BYTES or _lines(source["files"]) > MAX_LINES:
        raise UnsupportedError(
            "the task is too large to be kept in a campaign",
            where=str(source.get("name", "")) or None,
            expected=f"at most {MAX_BYTES >> 20} MiB (files in base64) and {MAX_LINES:,} lines of a SAS file",
        )
    return zlib.compress(text)


def read_source(packed: bytes) -> dict[str, Any]:
    """The reverse."""
    text = unpack(packed, MAX_BYTES)
    # The files are texts in base64, which has none of these signs. A few bytes could unpack to lists that fill memory.
    if sum(map(text.count, (b",", b"[", b"{"))) > MAX_MEMBERS:
        raise ValueError(f"more than {MAX_MEMBERS:,} files and settings")
    source = parse_json(text)
    if not isinstance(source, dict) or not isinstance(source.get("files"), dict):
        raise ValueError("it has no files")
    files = {str(name): base64.b64decode(text) for name, text in source["files"].items()}
    if _lines(files) > MAX_LINES:
        raise ValueError(f"more than {MAX_LINES:,} lines in a SAS file")
    return {**source, "files": files}


def _lines(files: dict[str, bytes]) -> int:
    """The lines of the SAS file, each of which takes many times its size in memory."""
    return files.get("task.sas", b"").count(b"\n")


__all__ = ["MAX_BYTES", "MAX_LINES", "packed_source", "read_source"]
