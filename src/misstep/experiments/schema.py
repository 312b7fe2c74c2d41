"""The schema of definitions: names of keys, the form of their values, and the line of a wrong one.

A value may differ by scale: `runs = { smoke = 20, small = 200 }` where the key allows it. Such a table holds names of
scales only, and a scale that it leaves out cannot be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.experiments.expressions import Condition, ExpressionError, Summary
from misstep.experiments.lines import TomlPath, TomlText
from misstep.tasks.parameters import did_you_mean

LARGEST = 10**12  # of numbers: seconds, megabytes, counts
SCALES = ("smoke", "small", "medium", "paper")
_REQUIRED = object()


@dataclass(frozen=True)
class Key:
    """One key of a table: the form of its value, in words and as a test."""

    form: str
    fits: Callable[[Any], bool]
    default: Any = _REQUIRED
    by_scale: bool = False

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED


def text(default: Any = _REQUIRED, by_scale: bool = False) -> Key:
    return Key("a text", lambda own: isinstance(own, str) and bool(own.strip()), default, by_scale)


def choice(*names: str, default: Any = _REQUIRED, by_scale: bool = False) -> Key:
    form = f"one of {', '.join(names)}"
    return Key(form, lambda own: isinstance(own, str) and own in names, default, by_scale)


def whole(default: Any = _REQUIRED, least: int = 1) -> Key:
    form = f"a whole number from {least} to {LARGEST:,}"
    return Key(form, lambda own: _is_whole(own, least), default, True)


def wholes() -> Key:
    def fits(own: Any) -> bool:
        return isinstance(own, list) and bool(own) and all(_is_whole(x, 1) for x in own)

    return Key(f"a list of whole numbers from 1 to {LARGEST:,}", fits, _REQUIRED, True)


def number(default: Any = _REQUIRED, by_scale: bool = True) -> Key:
    def fits(own: Any) -> bool:
        if not isinstance(own, (int, float)) or isinstance(own, bool):
            return False
        return 0 < own <= LARGEST

    return Key(f"a number above 0, at most {LARGEST:,}", fits, default, by_scale)


def texts(known: Iterable[str] | None = None, default: Any = _REQUIRED) -> Key:
    names = None if known is None else tuple(known)

    def fits(own: Any) -> bool:
        strings = isinstance(own, list) and bool(own) and all(isinstance(x, str) for x in own)
        return strings and (names is None or set(own) <= set(names))

    form = "a list of texts" if names is None else f"a list with some of {', '.join(names)}"
    return Key(form, fits, default, True)


def named_texts() -> Key:
    """Texts that are also their names, or a table of names and texts."""

    def fits(own: Any) -> bool:
        members = list(own.values()) if isinstance(own, dict) else own
        return isinstance(members, list) and bool(members) and all(isinstance(x, str) for x in members)  # fmt: skip

    return Key("a list of texts, or a table of names and texts", fits, by_scale=True)


def table(default: Any = _REQUIRED, by_scale: bool = False) -> Key:
    return Key("a table", lambda own: isinstance(own, dict), default, by_scale)


def flag(default: bool = False) -> Key:
    return Key("true or false", lambda own: isinstance(own, bool), default)


def _is_whole(own: Any, least: int) -> bool:
    return isinstance(own, int) and not isinstance(own, bool) and least <= own <= LARGEST


def checked(
    tree: Any, keys: Mapping[str, Key], source: TomlText, path: TomlPath, what: str
) -> dict[str, Any]:
    """The table with defaults; the first error is reported with its line."""
    if not isinstance(tree, dict):
        raise InputFormatError(f"{what} is not a table", where=source.where(path))
    for name in tree:
        if name not in keys:
            raise InputFormatError(
                f"unknown key {name!r:.60} of {what}",
                where=source.where((*path, name)),
                expected=", ".join(keys),
                hint=did_you_mean(name, keys),
            )
    found = {}
    for name, key in keys.items():
        if name in tree:
            _check(tree[name], key, source, (*path, name), f"{name} of {what}")
            found[name] = tree[name]
        elif key.required:
            raise InputFormatError(
                f"{what} has no {name}", where=source.where(path), expected=f"{name}: {key.form}"
            )
        else:
            found[name] = key.default
    return found


def _check(value: Any, key: Key, source: TomlText, path: TomlPath, what: str) -> None:
    if key.by_scale and is_by_scale(value):
        for scale, own in value.items():
            _check_one(own, key, source, (*path, scale), f"{what} at the scale {scale}")
    else:
        _check_one(value, key, source, path, what)


def _check_one(value: Any, key: Key, source: TomlText, path: TomlPath, what: str) -> None:
    if not key.fits(value):
        raise InputFormatError(
            f"{what} is {str(value)[:60]!r}", where=source.where(path), expected=key.form
        )


def is_by_scale(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and set(value) <= set(SCALES)


def at_scale(value: Any, scale: str, source: TomlText, path: TomlPath) -> Any:
    """The value at a scale."""
    if not is_by_scale(value):
        return value
    if scale not in value:
        raise UsageError(
            f"the definition says nothing of the scale {scale}",
            where=source.where(path),
            expected=" or ".join(own for own in SCALES if own in value),
        )
    return value[scale]


def expression(
    kind: Callable[[str], Condition | Summary],
    text: Any,
    columns: Iterable[str] | None,
    source: TomlText,
    path: TomlPath,
) -> None:
    """Check an expression, and that its columns exist if the columns are known."""
    try:
        found = kind(text)
    except ExpressionError as error:
        raise InputFormatError(
            f"{str(text)[:80]!r} is not an expression: {error}", where=source.where(path)
        ) from error
    if columns is None:
        return
    known = list(columns)
    for name in sorted(found.columns):
        if name not in known:
            raise InputFormatError(
                f"there is no column {name!r:.60} in {text[:80]!r}",
                where=source.where(path),
                expected=", ".join(known),
                hint=did_you_mean(name, known) or "texts stand in quotation marks",
            )


__all__ = [
    "SCALES",
    "Key",
    "at_scale",
    "checked",
    "choice",
    "expression",
    "flag",
    "is_by_scale",
    "named_texts",
    "number",
    "table",
    "text",
    "texts",
    "whole",
    "wholes",
]
