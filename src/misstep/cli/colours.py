"""Colours where they carry meaning: red for what is wrong, green for what is proven to be right, yellow for neither.

They go to a terminal alone, and not if NO_COLOR is set. Every coloured word says the same without its colour.
"""

from __future__ import annotations

import os
import re
from typing import TextIO

STYLES = {
    "BUG": "red",
    "INVALID": "red",
    "UNKNOWN": "yellow",
    "UNDECIDED": "yellow",
    "FLAKY": "yellow",
    "OPTIMAL": "green",
    "NOT A BUG": "green",
    "PROVEN": "green",
    "VALID": "green",
}
_CODES = {"red": "\x1b[31m", "green": "\x1b[32m", "yellow": "\x1b[33m"}
_PLAIN = "\x1b[0m"
_WORDS = re.compile(
    r"(?<![\w-])(?:" + "|".join(sorted(STYLES, key=len, reverse=True)) + r")(?![\w-])"
)


def takes_colours(stream: TextIO) -> bool:
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


def write(stream: TextIO, text: str) -> None:
    """Write plain text, with words such as verdicts in their colours where the stream takes them."""
    if takes_colours(stream):
        # Past the stream that writes out controls: the text has none, and the colours are ours.
        target: TextIO = getattr(stream, "rich_proxied_file", stream)
        target.write(_WORDS.sub(lambda word: painted(word[0], STYLES[word[0]]), text))
    else:
        stream.write(text)


def painted(text: str, colour: str) -> str:
    return f"{_CODES[colour]}{text}{_PLAIN}"


__all__ = ["STYLES", "painted", "takes_colours", "write"]
