"""What is printed is text. Names and messages of others may hold sequences that a terminal obeys; they are written out.

Names of operators, tasks and files, messages of policies and of libraries reach the terminal on many ways. So the
streams themselves are watched, instead of every place that prints. Only `rich`, which draws tables and bars with such
sequences of its own, gets the stream behind; who hands text of others to it passes it through `escaped`.

Imports next to nothing: it serves while the commands are still being loaded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from misstep.escaping import escaped


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


__all__ = ["plain_output", "to_json"]
