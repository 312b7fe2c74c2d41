"""Types of variables and constants: bool, int, real, with bounds or without, and arrays of these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from misstep.checking.jani.errors import ModelError, OutOfBoundsError, UnsupportedModelError
from misstep.checking.jani.expressions import (
    Operand,
    Scope,
    compile_expression,
    converted,
    fixed_value,
    shape_of,
)
from misstep.checking.jani.nodes import Node, member, optional, shown, text
from misstep.checking.jani.operators import Scalar, Value

PYTHON = {"bool": bool, "int": int, "real": float}


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a single value, or of an array with so many dimensions."""

    base: str  # bool, int or real
    low: Scalar | None = None
    high: Scalar | None = None
    dimensions: int = 0

    def store(self, value: Scalar) -> Scalar:
        """A value of the base type as a variable of this type holds it."""
        if self.base == "real":
            value += 0.0  # one zero only: negative zero plus zero is zero
        too_low = self.low is not None and value < self.low
        if too_low or (self.high is not None and value > self.high):
            raise OutOfBoundsError(f"{value} is not from {self.low} to {self.high}")
        return value

    def read(self, value: object) -> Scalar:
        """A value from a file, if it has this type."""
        if self.base == "real" and type(value) is int and abs(value) <= 2**63:
            value = float(value)
        own = isinstance(value, (bool, int, float)) and type(value) is PYTHON[self.base]
        if not own or (isinstance(value, float) and not math.isfinite(value)):
            raise ModelError(f"{shown(value)} is not a value of type {self.base}")
        assert isinstance(value, (bool, int, float))
        return self.store(value)


def read_type(node: Node, scope: Scope) -> Type:
    if isinstance(node, str):
        if node not in ("bool", "int", "real"):
            raise UnsupportedModelError(f"the type {node!r} is not supported")
        return Type(node)
    kind = text(node, "kind")
    if kind == "array":
        element = read_type(member(node, "base"), scope)
        return replace(element, dimensions=element.dimensions + 1)
    base = text(node, "base") if kind == "bounded" else ""
    if base not in ("int", "real"):
        raise UnsupportedModelError(f"the type {shown(node)} is not supported")
    low, high = (
        None if optional(node, key) is None else constant(node[key], scope, Type(base))
        for key in ("lower-bound", "upper-bound")
    )
    assert not isinstance(low, tuple)
    assert not isinstance(high, tuple)
    if low is not None and high is not None and low > high:
        raise ModelError(f"no value lies between {low} and {high}")
    return Type(base, low, high)


def constant(expression: Node, scope: Scope, kind: Type) -> Value:
    """The value of a constant expression of a type. It may be used as a probability, so none underflows to 0."""
    return _constant(compile_expression(expression, replace(scope, strict=True)), kind)


def _constant(operand: Operand, kind: Type) -> Value:
    if len(shape_of(operand)) != kind.dimensions:
        raise ModelError(
            f"a constant with {len(shape_of(operand))} dimensions, not {kind.dimensions}"
        )
    if isinstance(operand, tuple):
        inner = replace(kind, dimensions=kind.dimensions - 1)
        return tuple(_constant(element, inner) for element in operand)
    value = fixed_value(converted(operand, kind.base))
    assert not isinstance(value, tuple)
    return kind.store(value)


__all__ = ["Type", "constant", "read_type"]
