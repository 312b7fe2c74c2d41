"""Types of JANI: bool, int, real, bounded numbers, and arrays of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from misstep.tasks.jani.document import Cursor

if TYPE_CHECKING:
    from misstep.tasks.jani.expressions import Compiler, Scope

LOWEST = -(2**63)
HIGHEST = 2**63 - 1


@dataclass(frozen=True)
class Type:
    """A type without its array dimensions: those come from the initial value."""

    base: str  # bool, int or real
    low: int | float | None = None
    high: int | float | None = None
    dimensions: int = 0


def read_type(node: Cursor, compiler: Compiler, scope: Scope) -> Type:
    if isinstance(node.value, str):
        if node.value in ("clock", "continuous"):
            node.unsupported(f"variables of type {node.value} are not supported")
        if node.value not in ("bool", "int", "real"):
            node.fail(
                f"no such type: {node.value!r}", "bool, int, real, or a bounded or array type"
            )
        return Type(node.value)
    kind = node["kind"].text("the kind of the type")
    if kind == "array":
        base = read_type(node["base"], compiler, scope)
        return Type(base.base, base.low, base.high, base.dimensions + 1)
    if kind != "bounded":
        node["kind"].unsupported(f"types of kind {kind!r} are not supported")
    base_name = node["base"].text("int or real")
    if base_name not in ("int", "real"):
        node["base"].fail(f"no bounds on type {base_name!r}", "int or real")
    bounds = []
    for key in ("lower-bound", "upper-bound"):
        bound = node.get(key)
        value = None if bound is None else compiler.constant(bound, scope, Type(base_name))
        assert not isinstance(value, (bool, tuple))
        bounds.append(value)
    low, high = bounds
    if low is None and high is None:
        node.fail("a bounded type without bounds", "lower-bound or upper-bound")
    if low is not None and high is not None and low > high:
        node.fail(f"no value lies between {low} and {high}", "a lower bound below the upper bound")
    return Type(base_name, low, high)


__all__ = ["HIGHEST", "LOWEST", "Type", "read_type"]
