"""What is printed is text. Names and messages of others may hold sequences that a terminal obeys; they are written out.

Names of operators, tasks and files, messages of policies and of libraries reach the terminal on many ways. So the
streams themselves are watched, instead of every place that prints. Only `rich`, which draws tables and bars with such
sequences of its own, gets the stream behind; who hands text of others to it passes it through `escaped`.

Imports next to nothing: it serves while the commands are still being loaded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# All controls but tab and newline, marks that turn the direction of writing or break lines, and half characters.
_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escaped(text: str) -> str:
    """The text with every character that a terminal would obey written out, as in `\\x1b`."""
    return _CONTROLS.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def to_json(value: object) -> str:
    """JSON of plain characters alone. The standard library lets the last control of ASCII pass."""
    return json.dumps(value).replace("\x7f", "\\u007f")


class PlainStream:
    """A stream of text in which nothing is a command to the terminal."""

    def __init__(self, stream: TextIO) -> None:
        # rich looks for this name and writes there.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(escaped(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Within, what is printed is plain text."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, PlainStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


__all__ = ["escaped", "plain_output", "to_json"]
