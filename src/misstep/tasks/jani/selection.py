"""Non-deterministic assignments: `{"op": "nondet", "var": "v", "exp": condition}` writes any value that fits.

The values are those of the variable that is written, so that they can be listed: Booleans, and integers with bounds.
The condition is put together once for each of them, with the value in the place of the name.
"""

from __future__ import annotations

from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.expressions import Compiler, Scope
from misstep.tasks.jani.types import Type

MAX_CHOICES = 10_000

# Values, each with the expression of its condition.
Choices = list[tuple[int, int]]


def is_selection(node: Cursor) -> bool:
    return "op" in node and node.value["op"] == "nondet"


def read_choices(compiler: Compiler, node: Cursor, scope: Scope, kind: Type) -> Choices:
    """What can be written to a variable of the type; values whose condition never holds are left out."""
    builder = compiler.builder
    name = node["var"].text("a name")
    if scope.find(name) is not None:
        node["var"].fail(f"{name!r} is declared twice", "another name of the value that is chosen")
    choices: Choices = []
    for value in _values(node, kind):
        inner = Scope(scope)
        inner.names[name] = (
            builder.boolean(bool(value)) if kind.base == "bool" else builder.integer(value)
        )
        condition = compiler.of_type(node["exp"], inner, "bool")
        if builder.constant(condition) is not False:
            choices.append((value, condition))
    return choices


def _values(node: Cursor, kind: Type) -> range:
    if kind.dimensions:
        node.unsupported("a non-deterministic assignment of a whole array is not supported")
    if kind.base == "bool":
        return range(2)
    if kind.base == "real":
        node.unsupported(
            "a non-deterministic assignment of a real number is not supported",
            hint="its values cannot be listed; make the variable a bounded integer",
        )
    if kind.low is None or kind.high is None:
        node.unsupported(
            "a non-deterministic assignment of a variable without bounds is not supported",
            hint="its values cannot be listed; give the variable a lower and an upper bound",
        )
    found = range(int(kind.low), int(kind.high) + 1)
    if len(found) > MAX_CHOICES:
        node.unsupported(
            f"a non-deterministic assignment of {len(found):,} values is not supported",
            hint=f"at most {MAX_CHOICES:,}; give the variable closer bounds",
        )
    return found


__all__ = ["Choices", "is_selection", "read_choices"]
