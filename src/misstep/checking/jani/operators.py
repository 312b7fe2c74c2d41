"""The operators of JANI.

Integers are exact and must fit in 64 bits. Reals are double-precision numbers, and every result must be finite. If one
operand is real, the other one is converted first. Everything else is an error of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from misstep.checking.jani.errors import ModelError

Scalar = bool | int | float
Value = Scalar | tuple["Value", ...]
KINDS = ("bool", "int", "real")

Unary = Callable[[Scalar], Scalar]
Binary = Callable[[Scalar, Scalar], Scalar]


def whole(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ModelError("an integer does not fit in 64 bits")
    return value


def finite(value: float) -> float:
    if not math.isfinite(value):
        raise ModelError("a real number is infinite or undefined")
    return value


def modulo(a: Scalar, b: Scalar) -> int:
    """Never negative."""
    if b <= 0:
        raise ModelError("a modulus that is not positive")
    return int(a) % int(b)


def logarithm(a: float, base: float) -> float:
    return math.log(a) / math.log(base)


def sign(a: Scalar) -> int:
    return (a > 0) - (a < 0)


INTEGER: dict[str, Binary] = {
    "+": lambda a, b: whole(int(a + b)),
    "-": lambda a, b: whole(int(a - b)),
    "*": lambda a, b: whole(int(a * b)),
    "%": modulo,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
}
REAL: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "pow": math.pow,
    "log": logarithm,
}
ARITHMETIC = INTEGER.keys() | REAL.keys()

# Operand type, or None for either; type of the result, or None for that of the operand.
UNARY: dict[str, tuple[str | None, str | None, Unary]] = {
    "abs": (None, None, abs),
    "sgn": (None, "int", sign),
    "floor": ("real", "int", math.floor),
    "ceil": ("real", "int", math.ceil),
    "trc": ("real", "int", math.trunc),
    "sin": ("real", "real", math.sin),
    "cos": ("real", "real", math.cos),
}
TRIGONOMETRIC = ("sin", "cos")

COMPARISONS: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "=": lambda a, b: a == b,
    "≠": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
}
CONSTANTS = {"e": math.e, "π": math.pi}


def binary(op: str, left: str, right: str, strict: bool = False) -> tuple[str, Binary]:
    """The operation on operands of these types, and the type of its result.

    A strict one has no result where it would be 0 only because the true one is too small for a double.
    """
    for kind in (left, right):
        if kind == "bool":
            raise ModelError(f"an operand of {op} is a Boolean", expected="numbers")
    if op in INTEGER and (left, right) == ("int", "int"):
        return "int", INTEGER[op]
    if op not in REAL:
        raise ModelError(f"an operand of {op} is real", expected="integers")
    function = REAL[op]
    if not strict or op not in ("*", "/", "pow"):
        return "real", lambda a, b: finite(function(float(a), float(b)))

    def value(a: Scalar, b: Scalar) -> float:
        result = finite(function(float(a), float(b)))
        if result == 0 and a != 0 and (op != "*" or b != 0):
            raise ModelError("a real number is too small for a double, but not 0")
        return result

    return "real", value


def unary(op: str, kind: str) -> tuple[str, Unary]:
    if kind == "bool":
        raise ModelError(f"the operand of {op} is a Boolean", expected="a number")
    operand, result, function = UNARY[op]
    result = result or kind

    def compute(value: Scalar) -> Scalar:
        found = function(float(value) if operand == "real" else value)
        return whole(int(found)) if result == "int" else finite(found)

    return result, compute


def comparison(op: str, left: str, right: str) -> Callable[[Scalar, Scalar], bool]:
    compare = COMPARISONS[op]
    if "bool" in (left, right):
        if left != right or op not in ("=", "≠"):
            raise ModelError(f"{left} {op} {right}", expected="two numbers, or Booleans and = or ≠")
        return compare
    if left == right:
        return compare
    return lambda a, b: compare(float(a), float(b))


__all__ = [
    "ARITHMETIC",
    "COMPARISONS",
    "CONSTANTS",
    "KINDS",
    "TRIGONOMETRIC",
    "UNARY",
    "Scalar",
    "Value",
    "binary",
    "comparison",
    "finite",
    "unary",
    "whole",
]
