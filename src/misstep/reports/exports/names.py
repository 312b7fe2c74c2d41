"""Untrusted names as parts of file names and of text."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 60
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(text: str) -> str:
    """The text as one part of a path: letters, digits, dots, lines.

    A changed name gets a digest of the original at its end, so that different names stay different.
    """
    plain = _PLAIN.sub("_", text).lstrip(".-")[:_LONGEST]
    if plain and plain == text:
        return plain
    return f"{plain or 'x'}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def shortened(text: str, longest: int = 300) -> str:
    """The text, or its beginning with the number of characters that it has."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}... ({len(text):,} characters)"


__all__ = ["file_name", "shortened"]
