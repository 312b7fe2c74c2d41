"""Check settings that a user gives as keywords of a function: unknown names and wrong types are errors.

Settings are dataclasses and check the range of their values themselves. Before that, this module checks that each value
has the declared type, so that a mistake gives a clear message instead of a traceback.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from misstep.errors import UsageError
from misstep.tasks.parameters import did_you_mean

Settings = TypeVar("Settings")


class _Type(NamedTuple):
    expected: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(map(of, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# By the annotation of the field, as it is written.
_TYPES = {
    "int": _Type("a whole number", _is_whole),
    "float": _Type("a number", _is_number),
    "bool": _Type("True or False", lambda value: isinstance(value, bool)),
    "str": _Type("text", _is_text),
    "tuple[int, ...]": _Type("a list of whole numbers", _is_list(_is_whole)),
    "tuple[str, ...]": _Type("a list of texts", _is_list(_is_text)),
}


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse unknown keywords."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UsageError(
                f"there is no option {name!r} of {what}",
                expected="one of " + ", ".join(names),
                hint=did_you_mean(name, names),
            )


def make_settings(
    kind: type[Settings],
    given: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
    **more: Any,
) -> Settings:
    """The settings with the given values; `names` maps keywords to fields with other names."""
    fields = {own.name: str(own.type) for own in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = dict(more)
    for name, value in given.items():
        own = (names or {}).get(name, name)
        values[own] = _checked(name, value, fields[own])
    return kind(**values)


def _checked(name: str, value: Any, annotation: str) -> Any:
    plain = annotation.removesuffix(" | None")
    if value is None and plain != annotation:
        return None
    own = _TYPES[plain]
    if not own.fits(value):
        raise UsageError(f"{name} is {value!r:.60}", expected=own.expected)
    return tuple(value) if isinstance(value, list) else value


__all__ = ["check_names", "make_settings"]
