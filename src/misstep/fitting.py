"""Fits text into the width of a terminal: lines are broken between words, and no word is ever cut."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

_GAP = re.compile(r" {2,}(?=\S)")
_COMMAND = re.compile(r"^\s*(?:\S+ +)?(?=misstep [a-z])")
_NUMBER = re.compile(r"[-+.]?\d[-+\d.,%e]*(?: .*)?")
# A word of the shell: quotes belong to it with the spaces in them.
_SHELL_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")


def fitted(text: str, width: int) -> str:
    """The lines of a text, none wider than `width` unless a single word is.

    Continued lines are indented below the text after a label or an indentation. A command is continued with a
    backslash, as a shell expects it.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line] if len(line) <= width else _broken(line, width)
    return "\n".join(lines)


def paragraph(titles: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """A row of a table that is too wide: the first cell, and below it the titles and values of the other cells."""
    # A name needs no title, a number does.
    yield f"{titles[0]} {row[0]}" if _NUMBER.fullmatch(row[0]) else row[0]
    line = ""
    for title, cell in zip(titles[1:], row[1:], strict=True):
        if cell in ("", "-"):
            continue
        pair = f"{title} {cell}".strip()
        if line and len(line) + len(pair) + 4 > width:
            yield from _indented(line, width)
            line = ""
        line += f"  {pair}" if line else pair
    if line:
        yield from _indented(line, width)


def _broken(line: str, width: int) -> list[str]:
    command = _COMMAND.match(line)
    if command is not None:
        return broken_command(line, command.end(), width)
    start = len(line) - len(line.lstrip())
    gaps = [gap.end() for gap in _GAP.finditer(line) if start < gap.end() <= width // 2]
    return _wrapped(line, gaps[-1] if gaps else start + 2, width)


def _indented(line: str, width: int) -> list[str]:
    return _wrapped(f"  {line}", 4, width)


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def broken_command(line: str, at: int, width: int) -> list[str]:
    """A line with a command from position `at` on, broken into lines that a shell reads as one."""
    words = _SHELL_WORD.findall(line[at:])
    lines, current = [], line[:at] + words[0]
    for word in words[1:]:
        if len(current) + len(word) + 3 > width:
            lines.append(f"{current} \\")
            current = " " * (at + 2) + word
        else:
            current += f" {word}"
    return [*lines, current]


__all__ = ["broken_command", "fitted", "paragraph"]
