"""Columns and terms: values of many states at once, and where they are in doubt.

A column holds the values of one variable, one entry per state. The value of a term is a column (or a single value for
all states) and a second column that says where it is in doubt: there the model has an error, or a case occurred that is
not handled here, and the value means nothing.

Integers carry bounds. If these show that every result fits in 64 bits, no test is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep.checking.jani import operators
from misstep.checking.jani.errors import UnsupportedModelError
from misstep.checking.jani.operators import Value

Column = NDArray[Any]
Doubt = Any  # False, or a column of truth values
SMALLEST, LARGEST = -(2**63), 2**63 - 1


class NotForArraysError(UnsupportedModelError):
    """The model has something that is left to the slow checker."""


class Found(NamedTuple):
    value: Column
    doubt: Doubt = False


Columns = Sequence[Column]
Function = Callable[[Columns], Found]


@dataclass(frozen=True, slots=True)
class Term:
    kind: str  # bool, int or real
    value: Function
    low: int = SMALLEST  # of an integer
    high: int = LARGEST


Operand = Term | tuple["Operand", ...]


def either(a: Doubt, b: Doubt) -> Doubt:
    if a is False:
        return b
    return a if b is False else a | b


def within(where: Column, doubt: Doubt) -> Doubt:
    """The doubt, restricted to the states where the value is used."""
    return False if doubt is False else doubt & where


def spread(value: Column, count: int) -> Column:
    """A column, also where a single value stands for all states."""
    return value if np.ndim(value) else np.full(count, value)


def literal(value: Value) -> Operand:
    if isinstance(value, tuple):
        return tuple(literal(element) for element in value)
    if isinstance(value, bool):
        truth = Found(np.bool_(value))  # type: ignore[arg-type]
        return Term("bool", lambda _: truth)
    if isinstance(value, int):
        whole = Found(np.int64(operators.whole(value)))
        return Term("int", lambda _: whole, value, value)
    real = Found(np.float64(operators.finite(value)))
    return Term("real", lambda _: real)


def variable(cell: int, kind: str, low: int = SMALLEST, high: int = LARGEST) -> Term:
    return Term(kind, lambda columns: Found(columns[cell]), low, high)


def converted(term: Term, kind: str) -> Term:
    if term.kind == kind:
        return term
    if (term.kind, kind) != ("int", "real"):
        raise NotForArraysError(f"an expression is of type {term.kind}, and {kind} is expected")
    inner = term.value

    def value(columns: Columns) -> Found:
        found = inner(columns)
        return Found(np.asarray(found.value).astype(np.float64), found.doubt)

    return Term("real", value)


__all__ = [
    "LARGEST",
    "SMALLEST",
    "Column",
    "Columns",
    "Doubt",
    "Found",
    "Function",
    "NotForArraysError",
    "Operand",
    "Term",
    "converted",
    "either",
    "literal",
    "spread",
    "variable",
    "within",
]
