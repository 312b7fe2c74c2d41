"""The parameters of generated tasks, and the checks that all generators share."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from misstep.errors import UsageError


@dataclass(frozen=True)
class Parameter:
    """A size the user can choose."""

    name: str
    default: int
    minimum: int
    maximum: int
    help: str


@dataclass(frozen=True)
class Flag:
    """A variant the user can switch on."""

    name: str
    help: str
    default: bool = False


@dataclass(frozen=True)
class Text:
    """A parameter that is not a single number, such as a list of cells."""

    name: str
    default: str
    form: str
    """The form of a valid value, for the help and for errors."""
    parse: Callable[[str], Any]
    """Raises ValueError on any other text."""
    help: str


AnyParameter = Parameter | Flag | Text


def look_up(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    names = list(known)
    if name not in names:
        raise UsageError(
            f"unknown {kind} {name!r}",
            expected=f"one of {', '.join(names)}",
            hint=did_you_mean(name, names),
        )


def checked_choices(
    owner: str, parameters: Sequence[AnyParameter], given: Mapping[str, object]
) -> dict[str, Any]:
    """All parameters by name, as given or by default; texts are checked but not yet parsed."""
    known = [parameter.name for parameter in parameters]
    for name in given:
        if name not in known:
            raise UsageError(
                f"{owner} has no parameter {name!r}",
                expected=f"one of {', '.join(known)}",
                hint=did_you_mean(name, known),
            )
    return {p.name: _checked(owner, p, given.get(p.name, p.default)) for p in parameters}


def _checked(owner: str, parameter: AnyParameter, value: object) -> int | bool | str:
    if isinstance(parameter, Flag):
        if isinstance(value, bool):
            return value
        expected = "true or false"
    elif isinstance(parameter, Text):
        if isinstance(value, str) and _parses(parameter, value):
            return value
        expected = parameter.form
    else:
        low, high = parameter.minimum, parameter.maximum
        if isinstance(value, int) and is_integer(value) and low <= value <= high:
            return value
        expected = f"an integer from {low} to {high}"
    raise UsageError(
        f"{parameter.name} of {owner} is {value!r}", expected=f"{expected} ({parameter.help})"
    )


def _parses(parameter: Text, text: str) -> bool:
    try:
        parameter.parse(text)
    except ValueError:
        return False
    return True


def checked_seed(seed: object) -> int:
    if isinstance(seed, int) and is_integer(seed) and seed >= 0:
        return seed
    raise UsageError(f"the seed is {seed!r}", expected="an integer that is not negative")


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"did you mean {close[0]}?" if close else None


__all__ = [
    "AnyParameter",
    "Flag",
    "Parameter",
    "Text",
    "checked_choices",
    "checked_seed",
    "did_you_mean",
    "is_integer",
    "look_up",
]
