"""Momba, another tool for JANI models, where it is installed."""

from __future__ import annotations

from typing import Any

from misstep.checking.jani import State


def understood(part: Any) -> Any:
    """Momba 0.6.12 loads `≠` but its engine takes it for false; so it gets the negation of `=`."""
    if isinstance(part, list):
        return [understood(item) for item in part]
    if not isinstance(part, dict):
        return part
    inner = {key: understood(value) for key, value in part.items()}
    return {"op": "¬", "exp": {**inner, "op": "="}} if part.get("op") == "≠" else inner


def values(theirs: Any) -> State:
    """A state of momba's explorer as a tuple."""
    return tuple(value._value for value in theirs.global_env.values())
