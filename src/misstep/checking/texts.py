"""Reads JSON within limits. The checker has its own reader, since it shares no code with what it checks.

A hundred thousand nested lists would overflow the interpreter's stack, and a number of a million digits takes minutes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

MAX_DEPTH = 500  # of nested lists and objects
MAX_DIGITS = 40  # of a whole number
# One without an end goes to the end of the text: else the search for it would begin again at every \" inside.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_NOT_ZERO = re.compile(r"[-.0]*[1-9]")
_LONG_NUMBER = re.compile(r"\d{19}|[eE][+-]?\d{3}")


class TooDeepError(ValueError):
    """More nested lists and objects than are read."""


def parse(
    text: str | bytes,
    members: Callable[[list[tuple[str, Any]]], Any] | None = None,
    max_depth: int = MAX_DEPTH,
) -> Any:
    """The value of a JSON text; ValueError if it is not JSON, or exceeds a limit. `members` makes the objects."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    if _is_deep(text, max_depth):
        raise TooDeepError(f"more than {max_depth} lists or objects in each other")
    if _LONG_NUMBER.search(text) is None:
        return json.loads(text, parse_constant=_refused, object_pairs_hook=members)
    return json.loads(
        text,
        parse_constant=_refused,
        parse_int=_whole,
        parse_float=_finite,
        object_pairs_hook=members,
    )


def _is_deep(text: str, max_depth: int) -> bool:
    if text.count("[") + text.count("{") <= max_depth:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > max_depth:
            return True
    return False


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    if number == 0 and _NOT_ZERO.match(text):
        raise ValueError(f"the number {text[:40]} is too small for a double, but not 0")
    return number


__all__ = ["MAX_DEPTH", "MAX_DIGITS", "TooDeepError", "parse"]
