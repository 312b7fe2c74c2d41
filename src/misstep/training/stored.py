"""Check what the folder of a training says, which may be damaged or come from a stranger, before it is used.

Settings are compared with the default settings: a field must have a value of the same type. A value of another type
would otherwise fail much later, somewhere in the middle of the training.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from misstep.errors import InputFormatError, UsageError

HINT = "start again in another folder"
MOST = 2**63  # integers are below


def check_form(values: Any, like: Any, name: str = "settings") -> None:
    """Raise a `ValueError` unless the fields of a stored object have the types of those of a dataclass."""
    if not isinstance(values, dict):
        raise ValueError(f"{name} is not an object")
    for field in dataclasses.fields(like):
        if field.name not in values:
            continue  # the constructor says what it needs
        value, usual = values[field.name], getattr(like, field.name)
        optional = value is None and "None" in str(field.type)
        if dataclasses.is_dataclass(usual):
            check_form(value, usual, field.name)
        elif not optional and not _fits(value, usual):
            raise ValueError(f"{field.name} is {value!r:.40}")


def _fits(value: Any, usual: Any) -> bool:
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(usual, bool) and isinstance(value, bool)
    if isinstance(usual, (str, dict)):
        return isinstance(value, type(usual))
    if isinstance(usual, int):
        return isinstance(value, int) and abs(value) < MOST
    if isinstance(usual, tuple):
        kind = type(usual[0]) if usual else str
        return isinstance(value, (list, tuple)) and all(type(own) is kind for own in value)
    # A real number, or an optional one.
    return isinstance(value, (int, float)) and abs(value) < MOST and math.isfinite(value)


@contextmanager
def damaged(where: str) -> Iterator[None]:
    """Errors of values that do not fit become errors of the file."""
    try:
        yield
    except UsageError as error:  # a value that nobody could have asked for
        raise InputFormatError(
            f"the file is damaged: {error.what}", where=where, expected=error.expected, hint=HINT
        ) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputFormatError(
            f"the file is damaged: {said:.100}", where=where, hint=HINT
        ) from error


__all__ = ["MOST", "check_form", "damaged"]
