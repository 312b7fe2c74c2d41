"""The source of a task as a campaign stores it: its files, compressed, so that it can be rebuilt from the database."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from misstep.decoding import parse_json, unpack


def packed_source(source: dict[str, Any]) -> bytes:
    files = {name: base64.b64encode(text).decode() for name, text in source["files"].items()}
    return zlib.compress(json.dumps({**source, "files": files}).encode())


def read_source(packed: bytes, most: int) -> dict[str, Any]:
    """The reverse; an error if it has more than so many bytes."""
    source = parse_json(unpack(packed, most))
    if not isinstance(source, dict) or not isinstance(source.get("files"), dict):
        raise ValueError("it has no files")
    files = {str(name): base64.b64decode(text) for name, text in source["files"].items()}
    return {**source, "files": files}


__all__ = ["packed_source", "read_source"]
