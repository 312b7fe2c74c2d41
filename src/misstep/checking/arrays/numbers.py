"""The operators on numbers, column by column."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np

from misstep.checking.arrays.columns import (
    LARGEST,
    SMALLEST,
    Column,
    Columns,
    Found,
    Function,
    NotForArraysError,
    Term,
    converted,
    either,
    literal,
)
from misstep.checking.jani import operators


def _fits(low: int, high: int) -> bool:
    return low >= SMALLEST and high <= LARGEST


def _whole(op: str, a: Term, b: Term) -> Term:
    corners = {
        "+": (a.low + b.low, a.high + b.high),
        "-": (a.low - b.high, a.high - b.low),
        "*": tuple(sorted(x * y for x in (a.low, a.high) for y in (b.low, b.high)))[::3],
        "%": (0, max(b.high - 1, 0)),
        "min": (min(a.low, b.low), min(a.high, b.high)),
        "max": (max(a.low, b.low), max(a.high, b.high)),
    }[op]
    low, high = int(corners[0]), int(corners[1])
    fits = _fits(low, high)
    compute = _WHOLE[op]

    def value(columns: Columns) -> Found:
        left, right = a.value(columns), b.value(columns)
        doubt = either(left.doubt, right.doubt)
        if op == "%":
            wrong = right.value <= 0
            return Found(left.value % np.where(wrong, 1, right.value), either(doubt, wrong))
        if (
            not fits
        ):  # as a real number it is nearly right: half of the range is left for what is not
            size = np.abs(compute(np.float64(left.value), np.float64(right.value)))
            doubt = either(doubt, size >= 2.0**62)
        return Found(compute(left.value, right.value), doubt)

    return Term("int", value, max(low, SMALLEST), min(high, LARGEST))


def _least(a: Column, b: Column) -> Column:
    return np.where(b < a, b, a)


def _greatest(a: Column, b: Column) -> Column:
    return np.where(b > a, b, a)


_WHOLE: dict[str, Callable[[Column, Column], Column]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "%": np.remainder,
    "min": _least,
    "max": _greatest,
}
_REAL: dict[str, Callable[[Column, Column], Column]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "min": _least,
    "max": _greatest,
}


def _real(op: str, a: Term, b: Term) -> Term:
    left, right = converted(a, "real").value, converted(b, "real").value
    if op in ("pow", "log"):
        return _one_by_one(_power if op == "pow" else operators.logarithm, left, right)
    compute = _REAL[op]

    def value(columns: Columns) -> Found:
        one, two = left(columns), right(columns)
        result = compute(one.value, two.value)
        doubt = either(either(one.doubt, two.doubt), ~np.isfinite(result))
        if op in ("*", "/") and not np.all(result):
            # One that underflows is left to the slow checker.
            vanishes = (result == 0) & (one.value != 0) & ((two.value != 0) | (op == "/"))
            doubt = either(doubt, vanishes)
        return Found(result, doubt)

    return Term("real", value)


def _power(base: float, exponent: float) -> float:
    result = math.pow(base, exponent)
    return math.nan if result == 0 and base != 0 else result


def _one_by_one(function: Callable[..., float], *operands: Function) -> Term:
    """Functions that numpy may round differently from the mathematical library that Python and the engine call."""

    def value(columns: Columns) -> Found:
        found = [operand(columns) for operand in operands]
        shape = np.broadcast_shapes(*(np.shape(own.value) for own in found))
        rows = zip(
            *(np.broadcast_to(own.value, shape).ravel().tolist() for own in found), strict=True
        )
        results = np.array([_or_nan(function, row) for row in rows], np.float64).reshape(shape)
        return Found(results, reduce(either, (own.doubt for own in found), ~np.isfinite(results)))

    return Term("real", value)


def _or_nan(function: Callable[..., float], arguments: tuple[float, ...]) -> float:
    try:
        return function(*arguments)
    except (ArithmeticError, ValueError):
        return math.nan


def zero() -> Term:
    found = literal(0)
    assert isinstance(found, Term)
    return found


def computed(op: str, a: Term, b: Term) -> Term:
    if "bool" in (a.kind, b.kind):
        raise NotForArraysError(f"an operand of {op} is a Boolean")
    if op in _WHOLE and (a.kind, b.kind) == ("int", "int"):
        return _whole(op, a, b)
    if op not in operators.REAL:
        raise NotForArraysError(f"an operand of {op} is real")
    return _real(op, a, b)


def unary(op: str, operand: Term) -> Term:
    if operand.kind == "bool":
        raise NotForArraysError(f"the operand of {op} is a Boolean")
    if op in operators.TRIGONOMETRIC:
        return _one_by_one(math.sin if op == "sin" else math.cos, converted(operand, "real").value)
    if op in ("floor", "ceil", "trc"):
        return _rounded(op, converted(operand, "real").value)
    inner = operand.value
    if op == "sgn":
        return Term(
            "int", lambda c: Found(np.sign(inner(c).value).astype(np.int64), inner(c).doubt), -1, 1
        )
    low, high = operand.low, operand.high
    whole = operand.kind == "int"

    def value(columns: Columns) -> Found:
        found = inner(columns)
        wrong = found.value == SMALLEST if whole and low == SMALLEST else False
        return Found(np.abs(found.value), either(found.doubt, wrong))

    return Term(operand.kind, value, 0, min(LARGEST, max(abs(low), abs(high))))


def _rounded(op: str, inner: Function) -> Term:
    function = {"floor": np.floor, "ceil": np.ceil, "trc": np.trunc}[op]

    def value(columns: Columns) -> Found:
        found = inner(columns)
        rounded = function(found.value)
        wrong = ~(np.abs(rounded) < 2.0**62)
        return Found(np.where(wrong, 0.0, rounded).astype(np.int64), either(found.doubt, wrong))

    return Term("int", value)


COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "=": np.equal,
    "≠": np.not_equal,
    "<": np.less,
    "≤": np.less_equal,
    ">": np.greater,
    "≥": np.greater_equal,
}


def compared(op: str, a: Term, b: Term) -> Term:
    if "bool" in (a.kind, b.kind) and (a.kind != b.kind or op not in ("=", "≠")):
        raise NotForArraysError(f"{a.kind} {op} {b.kind}")
    if a.kind != b.kind:
        a, b = converted(a, "real"), converted(b, "real")
    compare, left, right = COMPARISONS[op], a.value, b.value

    def value(columns: Columns) -> Found:
        one, two = left(columns), right(columns)
        return Found(compare(one.value, two.value), either(one.doubt, two.doubt))

    return Term("bool", value)


__all__ = ["COMPARISONS", "compared", "computed", "unary", "zero"]
