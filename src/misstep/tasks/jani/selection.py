"""Non-deterministic assignments: `{"op": "nondet", "var": "v", "exp": condition}` writes any value that fits.

The possible values are those of the variable that is written, so they can be listed: Booleans, and integers whose
bounds come from the variable or the condition. The condition is built once for each value, which replaces the name.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.expressions import Compiler, Scope
from misstep.tasks.jani.types import Type

MAX_CHOICES = 10_000
TURNED = {"<": ">", "≤": "≥", ">": "<", "≥": "≤", "=": "="}  # read from right to left

# Values, each with the expression of its condition.
Choices = list[tuple[int, int]]


def is_selection(node: Cursor) -> bool:
    return "op" in node and node.value["op"] == "nondet"


def read_choices(compiler: Compiler, node: Cursor, scope: Scope, kind: Type) -> Choices:
    """The values that can be written to a variable of the type, without those whose condition never holds."""
    builder = compiler.builder
    name = node["var"].text("a name")
    if scope.find(name) is not None:
        node["var"].fail(f"{name!r} is declared twice", "another name of the value that is chosen")
    choices: Choices = []
    for value in _values(compiler, node, scope, kind):
        inner = Scope(scope)
        inner.names[name] = (
            builder.boolean(bool(value)) if kind.base == "bool" else builder.integer(value)
        )
        condition = compiler.of_type(node["exp"], inner, "bool")
        if builder.constant(condition) is not False:
            choices.append((value, condition))
    return choices


def _values(compiler: Compiler, node: Cursor, scope: Scope, kind: Type) -> range:
    if kind.dimensions:
        node.unsupported("a non-deterministic assignment of a whole array is not supported")
    if kind.base == "bool":
        return range(2)
    if kind.base == "real":
        node.unsupported(
            "a non-deterministic assignment of a real number is not supported",
            hint="its values cannot be listed; make the variable a bounded integer",
        )
    lows = [] if kind.low is None else [int(kind.low)]
    highs = [] if kind.high is None else [int(kind.high)]
    for symbol, bound in _bounds(compiler, node["exp"], node.value["var"], scope):
        if symbol in ("≥", ">", "="):
            lows.append(bound + (symbol == ">"))
        if symbol in ("≤", "<", "="):
            highs.append(bound - (symbol == "<"))
    if not lows or not highs:
        node.unsupported(
            "a non-deterministic assignment of a variable without bounds is not supported",
            hint="its values cannot be listed; give the variable a lower and an upper bound",
        )
    found = range(max(lows), min(highs) + 1)
    if len(found) > MAX_CHOICES:
        node.unsupported(
            f"a non-deterministic assignment of {len(found):,} values is not supported",
            hint=f"at most {MAX_CHOICES:,}; give the variable closer bounds",
        )
    return found


def _bounds(compiler: Compiler, node: Cursor, name: str, scope: Scope) -> Iterator[tuple[str, int]]:
    """Comparisons of the value with constant integers that must all hold."""
    symbol = node.value.get("op") if isinstance(node.value, dict) else None
    if symbol == "∧":
        yield from _bounds(compiler, node["left"], name, scope)
        yield from _bounds(compiler, node["right"], name, scope)
    if symbol not in TURNED:
        return
    for own, other, relation in (("left", "right", symbol), ("right", "left", TURNED[symbol])):
        if node[own].value == name and not _mentions(node[other].value, name):
            bound = compiler.expression(node[other], scope)
            value = compiler.builder.constant(bound) if isinstance(bound, int) else None
            if isinstance(value, int) and not isinstance(value, bool):
                yield relation, value


def _mentions(value: object, name: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(part, name) for part in value.values())
    if isinstance(value, list):
        return any(_mentions(part, name) for part in value)
    return value == name


__all__ = ["Choices", "is_selection", "read_choices"]
