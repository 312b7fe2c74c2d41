"""Non-deterministic assignments: the values that they choose from, each with its condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.checking.jani.expressions import (
    Function,
    Scope,
    Term,
    compile_expression,
    condition,
    fixed_value,
    literal,
)
from misstep.checking.jani.nodes import Node, member, optional, text
from misstep.checking.jani.operators import Scalar
from misstep.checking.jani.types import Type

MAX_CHOICES = 10_000
MIRRORED = {"<": ">", "≤": "≥", "=": "=", "≥": "≤", ">": "<"}


def read_choices(node: Node, scope: Scope, kind: Type) -> tuple[tuple[Scalar, Function], ...]:
    """The values of a type, each with the condition of a non-deterministic assignment for it."""
    name = text(node, "var")
    if name in scope.names:
        raise ModelError(f"{name!r} is declared twice")
    values: Sequence[Scalar] = (False, True)
    if kind.base == "real":
        raise UnsupportedModelError("a non-deterministic assignment of a real number")
    if kind.base == "int":
        values = _integers(member(node, "exp"), name, scope, kind)
    if len(values) > MAX_CHOICES:
        raise UnsupportedModelError(f"a non-deterministic assignment of {len(values)} values")
    return tuple(
        (value, condition(member(node, "exp"), scope.extended({name: literal(value)})))
        for value in values
    )


def _integers(node: Node, name: str, scope: Scope, kind: Type) -> range:
    """Between the bounds of the variable and those that the condition states."""
    least = [int(kind.low)] if kind.low is not None else []
    most = [int(kind.high)] if kind.high is not None else []
    for relation, number in _stated(node, name, scope):
        if relation in "=≥>":
            least.append(number + 1 if relation == ">" else number)
        if relation in "=≤<":
            most.append(number - 1 if relation == "<" else number)
    if not least or not most:
        raise UnsupportedModelError("a non-deterministic assignment of values without end")
    return range(max(least), min(most) + 1)


def _stated(node: Node, name: str, scope: Scope) -> Iterator[tuple[str, int]]:
    relation = optional(node, "op")
    sides = optional(node, "left"), optional(node, "right")
    if relation == "∧":
        for side in sides:
            yield from _stated(side, name, scope)
    elif relation in MIRRORED:
        for (own, other), read in ((sides, relation), (sides[::-1], MIRRORED[relation])):
            if own == name and isinstance(number := _number(other, scope), int):
                yield read, number


def _number(node: Node, scope: Scope) -> int | None:
    """An integer constant; None for everything else, such as an expression with the chosen value."""
    try:
        term = compile_expression(node, scope)
        if not isinstance(term, Term) or term.kind != "int":
            return None
        value = fixed_value(term)
    except ModelError:
        return None
    return value if type(value) is int else None


__all__ = ["read_choices"]
