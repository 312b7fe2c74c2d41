"""Rewrites errors in the user's words: the option that was typed, and plain English for the parser's message."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from misstep.errors import UsageError

_INVALID = re.compile(r"Invalid value for (?P<option>'.*?'): (?P<why>.*)", re.DOTALL)
# The parser's message about a value, and what is expected.
_EXPECTED = (
    (re.compile(r"Input should be a valid integer"), "a whole number"),
    (re.compile(r"Input should be a valid number"), "a number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"\1 or more"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"at most \1"),
    (re.compile(r"Input should be a finite number"), "a finite number"),
)


def refuse_unreadable(arguments: Sequence[str]) -> None:
    """Refuses an option with an empty value, such as from an unset shell variable: it does not mean the default.

    Also refuses words that are not text, which names of files may be: neither settings nor records can hold them.
    """
    for place, word in enumerate(arguments):
        if not word.isprintable() and re.search("[\ud800-\udfff]", word):
            raise UsageError(
                f"{word!r:.200} has bytes that are not text",
                expected=f"text in {sys.getfilesystemencoding()}",
                hint="rename the file or folder",
            )
        is_empty = arguments[place + 1 : place + 2] == [""] or word.endswith("=")
        if re.match("--?[a-z]", word) and is_empty:
            raise UsageError(
                f"{word.removesuffix('=')} is empty",
                expected="a value, or the command without this option",
            )


def as_typed(error: UsageError, arguments: Sequence[str]) -> None:
    """Let an error that names a setting of Python, or a value alone, name the option that was typed."""
    name, found, rest = error.what.partition(" is ")
    option = "--" + name.replace("_", "-")
    options = dict(_options(arguments))
    if found and name.isidentifier() and option in options:
        error.what = f"{option}{found}{rest}"
        if error.expected in ("pool", "runs"):
            error.expected = f"--{error.expected}"
    elif error.where is None:
        error.where = _of_value(error.what, options)
    elif error.where.startswith("--policy ") and "--policy" not in options:
        spec = error.where.removeprefix("--policy ")
        error.where = f"--policies {spec}" if "--policies" in options else spec


def _of_value(what: str, options: dict[str, str]) -> str | None:
    """The one option whose value an error is about, with this value; None if it is ambiguous."""
    if what.startswith("-"):
        return None
    found = [
        f"{option} {value}"
        for option, value in options.items()
        if value and (repr(value) in what or what.endswith(f" is {value}"))
    ]
    return found[0] if len(found) == 1 else None


def _options(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Options with the words after them, which are their values unless they are flags."""
    pairs = []
    for place, word in enumerate(arguments):
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            after = arguments[place + 1 : place + 2]
            pairs.append((option, value if equals else "".join(after)))
    return pairs


def plain_usage(message: str, arguments: Sequence[str]) -> tuple[str, str | None]:
    """The error, and what is expected instead, from a message of the parser."""
    found = _INVALID.fullmatch(message)
    if found is None:
        return message, None
    names = [name.strip(" '") for name in found["option"].split("/")]
    value = next((value for name, value in _options(arguments) if name in names), None)
    for said, expected in _EXPECTED:
        if (match := said.search(found["why"])) is not None and value is not None:
            typed = next(name for name, _ in _options(arguments) if name in names)
            return f"{typed} is {value}", match.expand(expected)
    return message, None


__all__ = ["as_typed", "plain_usage", "refuse_unreadable"]
