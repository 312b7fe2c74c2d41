"""Settings of a campaign as TOML: a small writer, and the reader of the standard library.

The standard library reads TOML (since Python 3.11) but does not write it. Settings only have tables, lists, strings,
numbers and truth values, so the writer is short. TOML has no null; the caller must use another value for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from misstep.errors import InputFormatError, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Tree = Mapping[str, Any]

# Parts of a dotted key: the standard reader takes time that grows with their square.
MAX_PARTS = 100
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Every kind of string, and comments. Those without an end go to the end of the text, or of the line.
_STRINGS = re.compile(
    r'''"""[^"\\]*(?:(?:\\.|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'''
    r"""|'''[^']*(?:'{1,2}(?!')[^']*)*(?:'{3,5}|\Z)|'[^'\n]*'?|#[^\n]*""",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]+(?:[ \t]*\.[ \t]*[\w-]+){{{MAX_PARTS}}}", re.ASCII)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def to_toml(settings: Tree) -> str:
    return "\n".join(_table(settings, ())).strip("\n") + "\n"


def from_toml(text: str, where: str = "settings") -> dict[str, Any]:
    if text.count(".") >= MAX_PARTS and _LONG_KEY.search(_STRINGS.sub("_", text)):
        raise InputFormatError(f"not TOML: a key of more than {MAX_PARTS} parts", where=where)
    try:
        settings: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise InputFormatError("not TOML: nested too deeply", where=where) from None
    # Numbers of thousands of digits and invalid dates raise other errors than TOMLDecodeError.
    except ValueError as error:
        raise InputFormatError(f"not TOML: {str(error)[:200]}", where=where) from error
    return settings


def _table(settings: Tree, path: tuple[str, ...]) -> Iterator[str]:
    # Plain settings come first, because lines after the header of an inner table belong to that table.
    tables = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            tables[key] = value
        else:
            yield f"{_key(key)} = {_value(value, key)}"
    for key, value in tables.items():
        yield f"\n[{'.'.join(map(_key, (*path, key)))}]"
        yield from _table(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    def escape(character: str) -> str:
        if character in _ESCAPES:
            return _ESCAPES[character]
        if ord(character) < 0x20 or ord(character) == 0x7F:
            return f"\\u{ord(character):04x}"
        return character

    return '"' + "".join(map(escape, text)) + '"'


def _value(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)  # Python and TOML write inf, nan and exponents in the same way
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item, key) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v, k)}" for k, v in value.items()) + "}"
    raise UsageError(
        f"the setting {key} is {value!r}",
        expected="a string, number, truth value, list or table",
    )


__all__ = ["Tree", "from_toml", "to_toml"]
