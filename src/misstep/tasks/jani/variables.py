"""Constants, functions and variables: names that have a value, or slots of the state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from misstep.errors import UsageError
from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.expressions import (
    MAX_CELLS,
    Cells,
    Compiler,
    Function,
    Python,
    Scope,
)
from misstep.tasks.jani.types import Type, read_type


@dataclass(frozen=True)
class Variable:
    name: str  # qualified by the automaton if the bare name is ambiguous
    type: Type
    shape: tuple[int, ...]
    first: int  # slot
    initial: Python | None
    transient: bool
    node: Cursor

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def value(self) -> Cells:
        return Cells(self.first, self.size, self.shape)

    def cells(self) -> list[tuple[int, bool | int | float | None]]:
        """Slots with their initial values."""
        initial = [None] * self.size if self.initial is None else list(flat(self.initial))
        return [(self.first + i, value) for i, value in enumerate(initial)]


def flat(value: Python) -> Iterator[bool | int | float]:
    if isinstance(value, tuple):
        for element in value:
            yield from flat(element)
    else:
        yield value


def read_constants(
    model: Cursor, compiler: Compiler, scope: Scope, parameters: Mapping[str, bool | int | float]
) -> None:
    """Fills the scope with the constants; those without a value are parameters."""
    nodes = [(node, node["name"].text("a name")) for node in model.list_of("constants")]
    for node, _ in nodes:
        _ = node["type"]  # a constant without a type is an error before any value is asked for
    # Parameters come first: the values of other constants, and bounds of types, may depend on them.
    missing = [name for node, name in nodes if "value" not in node and name not in parameters]
    if missing:
        raise UsageError(
            "the model has parameters without a value: " + ", ".join(missing),
            where=model.where,
            expected=f"a value for each: --constant {missing[0]}=VALUE (in Python: constants)",
        )
    left_open = [name for node, name in nodes if "value" not in node]
    unused = set(parameters)
    for node, name in nodes:
        if scope.find(name) is not None:
            node["name"].fail(f"{name!r} is declared twice", "distinct names")
        kind = read_type(node["type"], compiler, scope)
        if "value" in node:
            if name in parameters:
                raise UsageError(
                    f"the constant {name} has a value in the model",
                    where=node.where,
                    expected="parameters for constants without a value",
                )
            found = compiler.constant(node["value"], scope, kind)
        else:
            unused.discard(name)
            value = Cursor(node.documents, node.trail, node.path, parameters[name])
            found = compiler.constant(value, scope, kind)
        compiler.constants[name] = found
        scope.names[name] = compiler.literal(found)
    if unused:
        raise UsageError(
            "the model has no such parameters: " + ", ".join(sorted(unused)),
            where=model.where,
            expected="constants that the model leaves open: "
            + (", ".join(left_open) or "it has none"),
        )


def named_cells(
    values: Mapping[str, Python],
) -> Iterator[tuple[str, bool | int | float]]:
    """Values by name; arrays are listed cell by cell, such as `cost[2]`."""
    for name, value in values.items():
        if isinstance(value, tuple):
            yield from named_cells({f"{name}[{i}]": cell for i, cell in enumerate(value)})
        else:
            yield name, value


def read_functions(owner: Cursor, compiler: Compiler, scope: Scope) -> None:
    """Fills the scope with the functions of the model or of an automaton."""
    for node in owner.list_of("functions"):
        name = node["name"].text("a name")
        if scope.function(name) is not None:
            node["name"].fail(f"the function {name!r} is declared twice", "distinct names")
        parameters: dict[str, Type] = {}
        for item in node["parameters"].items("a list of parameters"):
            parameter = item["name"].text("a name")
            if parameter in parameters:
                item["name"].fail(f"{parameter!r} is declared twice", "distinct names")
            parameters[parameter] = read_type(item["type"], compiler, scope)
        scope.functions[name] = Function(
            name,
            tuple(parameters.items()),
            read_type(node["type"], compiler, scope),
            node["body"],
            scope,
        )


def is_transient(node: Cursor) -> bool:
    transient = node.get("transient")
    return transient is not None and transient.boolean()


def declare(node: Cursor, name: str, compiler: Compiler, scope: Scope) -> Variable:
    """One variable, with a slot for each of its values."""
    kind = read_type(node["type"], compiler, scope)
    initial = node.get("initial-value")
    value = None if initial is None else compiler.constant(initial, scope, kind)
    transient = is_transient(node)
    if transient and value is None:
        node.fail("a transient variable without initial value", "'initial-value'")
    shape: tuple[int, ...] = ()
    if kind.dimensions > 0:
        if value is None:
            node.fail("an array without initial value", "'initial-value', which tells the length")
        shape = _shape(value)
        if math.prod(shape) > MAX_CELLS:
            node.fail(f"an array of {math.prod(shape)} cells", f"at most {MAX_CELLS}")
    slots = []
    for i in range(math.prod(shape)):
        cell = name + "".join(f"[{k}]" for k in _indices(i, shape))
        slots.append(compiler.builder.declare(cell, kind.base, kind.low, kind.high, transient))
    if transient:
        for slot, cell_value in zip(slots, flat(cast(Python, value)), strict=True):
            compiler.builder.set_transient(slot, cell_value)
    return Variable(name, kind, shape, slots[0], value, transient, node)


def bind(variable: Variable, name: str, compiler: Compiler, scope: Scope) -> None:
    scope.names[name] = (
        variable.value if variable.shape else compiler.builder.variable(variable.first)
    )


def _shape(value: Python) -> tuple[int, ...]:
    return (len(value), *_shape(value[0])) if isinstance(value, tuple) else ()


def _indices(position: int, shape: tuple[int, ...]) -> list[int]:
    result: list[int] = []
    for length in reversed(shape):
        position, index = divmod(position, length)
        result.insert(0, index)
    return result


__all__ = [
    "Variable",
    "bind",
    "declare",
    "flat",
    "is_transient",
    "named_cells",
    "read_constants",
    "read_functions",
]
