"""JANI expressions as the generators write them.

Only operators of the core of the format are used: `a ≥ b` is written `b ≤ a`, so that a model needs
no features and every JANI tool reads it. Long conjunctions and sums become balanced trees, because
some readers recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Expression = bool | int | float | str | dict[str, Any]  # a string names a variable or constant


def _binary(op: str, left: Expression, right: Expression) -> Expression:
    return {"op": op, "left": left, "right": right}


def eq(left: Expression, right: Expression) -> Expression:
    return _binary("=", left, right)


def ne(left: Expression, right: Expression) -> Expression:
    return _binary("≠", left, right)


def lt(left: Expression, right: Expression) -> Expression:
    return _binary("<", left, right)


def le(left: Expression, right: Expression) -> Expression:
    return _binary("≤", left, right)


def gt(left: Expression, right: Expression) -> Expression:
    return lt(right, left)


def ge(left: Expression, right: Expression) -> Expression:
    return le(right, left)


def add(left: Expression, right: Expression) -> Expression:
    return _binary("+", left, right)


def sub(left: Expression, right: Expression) -> Expression:
    return _binary("-", left, right)


def mul(left: Expression, right: Expression) -> Expression:
    return _binary("*", left, right)


def div(left: Expression, right: Expression) -> Expression:
    return _binary("/", left, right)


def ite(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    return {"op": "ite", "if": condition, "then": then, "else": otherwise}


def sin(angle: Expression) -> Expression:
    return {"op": "sin", "exp": angle}


def cos(angle: Expression) -> Expression:
    return {"op": "cos", "exp": angle}


def all_of(*conditions: Expression) -> Expression:
    return _balanced(lambda a, b: _binary("∧", a, b), conditions, True)


def any_of(*conditions: Expression) -> Expression:
    return _balanced(lambda a, b: _binary("∨", a, b), conditions, False)  # noqa: RUF001


def total(*terms: Expression) -> Expression:
    return _balanced(add, terms, 0)


def between(low: Expression, value: Expression, high: Expression) -> Expression:
    return all_of(le(low, value), le(value, high))


def all_different(values: Sequence[Expression]) -> Expression:
    return all_of(*(ne(a, b) for i, a in enumerate(values) for b in values[:i]))


def look_up(index: Expression, values: Sequence[Expression]) -> Expression:
    """The value at an index that is known to lie within the list."""
    found = values[-1]
    for i in reversed(range(len(values) - 1)):
        found = ite(eq(index, i), values[i], found)
    return found


def _balanced(
    join: Callable[[Expression, Expression], Expression],
    parts: Sequence[Expression],
    empty: Expression,
) -> Expression:
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return join(_balanced(join, parts[:middle], empty), _balanced(join, parts[middle:], empty))
