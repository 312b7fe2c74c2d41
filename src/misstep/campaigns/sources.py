"""The source of a task as a campaign stores it: its files, compressed, so that it can be rebuilt from the database."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from misstep.decoding import parse_json, unpack

MAX_MEMBERS = 1_000_000  # files and settings


def packed_source(source: dict[str, Any]) -> bytes:
    files = {name: base64.b64encode(text).decode() for name, text in source["files"].items()}
    return zlib.compress(json.dumps({**source, "files": files}).encode())


def read_source(packed: bytes, most: int) -> dict[str, Any]:
    """The reverse; an error if it has more than so many bytes."""
    text = unpack(packed, most)
    # The files are texts in base64, which has none of these signs. A few bytes could unpack to lists that fill memory.
    if sum(map(text.count, (b",", b"[", b"{"))) > MAX_MEMBERS:
        raise ValueError(f"more than {MAX_MEMBERS:,} files and settings")
    source = parse_json(text)
    if not isinstance(source, dict) or not isinstance(source.get("files"), dict):
        raise ValueError("it has no files")
    files = {str(name): base64.b64decode(text) for name, text in source["files"].items()}
    return {**source, "files": files}


__all__ = ["packed_source", "read_source"]
