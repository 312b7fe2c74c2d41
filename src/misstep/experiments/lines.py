"""Find the lines of values in a TOML file, because the standard reader only gives the values.

A path is the way to a value, `("steps", 1, "runs")` for the key `runs` of the second `[[steps]]`. The scanner reads
headers and keys only; what is inside a value belongs to the line on which the value's key stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from misstep.campaigns.toml import from_toml
from misstep.errors import InputFormatError

TomlPath = tuple[str | int, ...]
# There is only one way to read a key by these: where there are several, a line that fits none may take years.
_ONE = r"""(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_ONE}(?:\s*\.\s*{_ONE})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_PART = re.compile(_ONE)
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class TomlText:
    """A definition as it is written."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name  # name of the file, as the user gave it
        try:
            self.tree = from_toml(text, name)
        except InputFormatError as error:
            found = _AT_LINE.search(error.what)
            where = f"{name}:{found[1]}" if found else name
            raise InputFormatError(error.what, where=where, hint=error.hint) from error
        self._lines = dict(_positions(text))

    def where(self, path: TomlPath) -> str:
        """File and line of the value, or of the innermost entry around it."""
        while path:
            if path in self._lines:
                return f"{self.name}:{self._lines[path]}"
            path = path[:-1]
        return self.name


def read_toml(path: Path, content: bytes) -> TomlText:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputFormatError(f"not UTF-8 ({error.reason})", where=str(path)) from error
    return TomlText(text, str(path))


def _positions(text: str) -> Iterator[tuple[TomlPath, int]]:
    table: TomlPath = ()
    counts: dict[TomlPath, int] = {}
    inside = _Inside()
    for number, line in enumerate(text.splitlines(), 1):
        if inside.goes_on(line):
            continue
        header = _HEADER.match(line)
        if header:
            table = _table(_parts(header[2]), header[1] == "[[", counts)
            yield table, number
            continue
        key = _KEY.match(line)
        if key:
            path = (*table, *_parts(key[1]))
            yield path, number
            inside.begin(line[key.end() :])


def _table(parts: list[str], is_list: bool, counts: dict[TomlPath, int]) -> TomlPath:
    path: TomlPath = ()
    for place, part in enumerate(parts):
        path = (*path, part)
        last = place == len(parts) - 1
        if last and is_list:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(text: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(text)]


class _Inside:
    """Whether a line belongs to a value that began on an earlier one."""

    def __init__(self) -> None:
        self._quote: str | None = None
        self._depth = 0

    def begin(self, rest: str) -> None:
        self._quote, self._depth = None, 0
        self._read(rest)

    def goes_on(self, line: str) -> bool:
        if self._quote is None and self._depth <= 0:
            return False
        self._read(line)
        return True

    def _read(self, text: str) -> None:
        place = 0
        while place < len(text):
            if self._quote is not None:
                end = text.find(self._quote, place)
                if end < 0:
                    if len(self._quote) == 1:
                        self._quote = None
                    return
                # An escaped quotation mark does not end a string.
                if self._quote[0] == '"' and text[end - 1 : end] == "\\":
                    place = end + 1
                    continue
                place, self._quote = end + len(self._quote), None
                continue
            letter = text[place]
            if letter == "#":
                return
            if letter in "\"'":
                self._quote = letter * 3 if text.startswith(letter * 3, place) else letter
                place += len(self._quote)
                continue
            self._depth += (letter in "[{") - (letter in "]}")
            place += 1


__all__ = ["TomlPath", "TomlText", "read_toml"]
