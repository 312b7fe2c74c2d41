"""Escape untrusted text: control characters that a terminal, page or file would obey are written out, as in `\\x1b`.

Names of objects, tasks, files and policies may come from strangers. Each output format also has its own quoting; this
module handles only the characters that no format may contain.
"""

from __future__ import annotations

import re

# All control characters but tab and newline, marks of writing direction, line separators, and lone surrogates.
_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escaped(text: str) -> str:
    """The text, of one line or several, with every character that a terminal would obey written out."""
    return _CONTROLS.sub(lambda found: _code(found[0]), text)


def written_out(text: str) -> str:
    """The text on one line, with every character that is not printable written out."""
    if text.isprintable():
        return text
    return "".join(own if own.isprintable() else _code(own) for own in text)


def _code(letter: str) -> str:
    number = ord(letter)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


__all__ = ["escaped", "written_out"]
