"""The value of a JANI expression: one recursive function, one line an operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Value = bool | int | float | tuple["Value", ...]
Environment = Mapping[str, Value]


class ModelError(ValueError):
    """The model is wrong, or it leaves the subset that is supported."""


class OutOfBoundsError(ModelError):
    """A value outside the bounds of its variable."""


def truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ModelError(f"{value!r} is no truth value")
    return value


def number(value: Value) -> int | float:
    if isinstance(value, (bool, tuple)):
        raise ModelError(f"{value!r} is no number")
    return value


def integer(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ModelError(f"{value!r} is no integer")
    return value


def checked(value: int | float) -> int | float:
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ModelError("an integer beyond 64 bits")
    elif not math.isfinite(value):
        raise ModelError("an infinite or undefined number")
    return value


def _pair(a: int | float, b: int | float) -> tuple[int | float, int | float]:
    """Both as integers or both as reals."""
    return (a, b) if isinstance(a, int) and isinstance(b, int) else (float(a), float(b))


def _modulo(a: int | float, b: int | float) -> int:
    if integer(b) <= 0:
        raise ModelError("a modulus that is not positive")
    return integer(a) % integer(b)


def _sum(a: int | float, b: int | float) -> int | float:
    return a + b


ARITHMETIC: dict[str, Callable[[int | float, int | float], int | float]] = {
    "+": _sum,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: float(a) / float(b),
    "%": _modulo,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "pow": lambda a, b: math.pow(a, b),
    "log": lambda a, b: math.log(a) / math.log(b),
}
ROUNDING: dict[str, Callable[[int | float], int | float]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trc": math.trunc,
    "abs": abs,
    "sgn": lambda a: (a > 0) - (a < 0),
    "sin": lambda a: math.sin(a),
    "cos": lambda a: math.cos(a),
}
ORDER: dict[str, Callable[[int | float, int | float], bool]] = {
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
}
CONSTANTS = {"e": math.e, "π": math.pi}


def evaluate(expression: Any, environment: Environment) -> Value:
    if isinstance(expression, (bool, int, float)):
        return expression if isinstance(expression, bool) else checked(expression)
    if isinstance(expression, str):
        if expression not in environment:
            raise ModelError(f"nothing is called {expression!r} here")
        return environment[expression]
    if not isinstance(expression, dict):
        raise ModelError(f"{expression!r} is no expression")
    if "constant" in expression:
        return CONSTANTS[expression["constant"]]
    if "op" not in expression and "expression" in expression:
        return evaluate(expression["expression"], environment)
    op: str = expression["op"]

    def part(key: str) -> Value:
        return evaluate(expression[key], environment)

    # What is not needed is not evaluated: a guard may protect what stands to its right.
    if op == "∧":
        return truth(part("left")) and truth(part("right"))
    if op == "∨":  # noqa: RUF001
        return truth(part("left")) or truth(part("right"))
    if op == "⇒":
        return not truth(part("left")) or truth(part("right"))
    if op == "¬":
        return not truth(part("exp"))
    if op == "ite":
        return part("then") if truth(part("if")) else part("else")
    if op in ("=", "≠"):
        left, right = part("left"), part("right")
        if not (isinstance(left, bool) and isinstance(right, bool)):
            left, right = number(left), number(right)
        return (left == right) == (op == "=")
    if op in ORDER:
        return ORDER[op](number(part("left")), number(part("right")))
    try:
        if op in ARITHMETIC:
            return checked(ARITHMETIC[op](*_pair(number(part("left")), number(part("right")))))
        if op in ROUNDING:
            return checked(ROUNDING[op](number(part("exp"))))
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{op}: {error}") from error
    if op == "aa":
        return element(part("exp"), part("index"))
    if op == "av":
        return tuple(evaluate(item, environment) for item in expression["elements"])
    if op == "ac":
        return tuple(
            evaluate(expression["exp"], {**environment, expression["var"]: i})
            for i in range(integer(part("length")))
        )
    if op == "let":
        inner = dict(environment)
        for definition in expression["variables"]:
            inner[definition["name"]] = evaluate(definition["value"], inner)
        return evaluate(expression["expression"], inner)
    raise ModelError(f"the operator {op!r} is not supported")


def element(array: Value, index: Value) -> Value:
    if not isinstance(array, tuple):
        raise ModelError(f"{array!r} is no array")
    if not 0 <= integer(index) < len(array):
        raise ModelError(f"index {index} of an array of {len(array)}")
    return array[integer(index)]


def parts(expression: Any) -> Iterator[Any]:
    """The expression and everything inside it."""
    yield expression
    if isinstance(expression, dict):
        for value in expression.values():
            yield from parts(value)
    elif isinstance(expression, list):
        for value in expression:
            yield from parts(value)


def conjuncts(expression: Any) -> Iterator[Any]:
    if isinstance(expression, dict) and expression.get("op") == "∧":
        yield from conjuncts(expression["left"])
        yield from conjuncts(expression["right"])
    else:
        yield expression
