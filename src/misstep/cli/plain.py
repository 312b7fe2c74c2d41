"""Escape control characters in everything that is printed.

Names of operators, tasks and files, and messages of policies and libraries, may contain sequences that a terminal
obeys, and they reach the terminal from many places. Therefore the streams themselves escape what is written. Only
`rich`, which draws tables and bars with control sequences, gets the original stream; untrusted text that is passed to
it must go through `escaped` first.

This module imports almost nothing, because it is needed while the commands are still being loaded.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, TextIO, cast

from misstep.escaping import escaped

FAR = 200  # descriptors that programs close one by one have lower numbers


def to_json(value: object) -> str:
    """JSON without control characters. The standard library does not escape DEL, the last control of ASCII."""
    return json_text(json.dumps(value))


def json_text(text: str) -> str:
    """The same of JSON that is text already."""
    return text.replace("\x7f", "\\u007f")


def out_of_the_way(number: int) -> int:
    """A duplicate of a descriptor that a policy does not close which closes all those that it might have inherited."""
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FAR)
    except OSError:  # few descriptors are allowed
        return os.dup(number)


class PlainStream:
    """A text stream that escapes everything a terminal would obey."""

    def __init__(self, stream: TextIO, others: TextIO | None = None) -> None:
        # rich looks for this name and writes there.
        self.rich_proxied_file = stream
        self._others = others  # for other threads, which a policy has started
        self._thread = get_ident()

    def write(self, text: str) -> int:
        ours = self._others is None or get_ident() == self._thread
        (self.rich_proxied_file if ours else cast(TextIO, self._others)).write(escaped(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def detach(self) -> Any:
        """What a policy wraps again, to print in another encoding. Our own stream stays as it is."""
        self.flush()
        return self.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def same_streams() -> Iterator[None]:
    """After the `with` block, the standard streams are those from before it, whatever code of others made of them."""
    before = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def plain_output() -> Iterator[None]:
    """Inside the `with` block, everything printed is plain text."""
    with same_streams():
        output = PlainStream(sys.stdout, others=sys.stderr)
        sys.stdout, sys.stderr = cast(TextIO, output), cast(TextIO, PlainStream(sys.stderr))
        yield


__all__ = ["json_text", "out_of_the_way", "plain_output", "same_streams", "to_json"]
