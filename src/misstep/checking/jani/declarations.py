"""Constants, functions and variables: names that have a value, and names that stand for cells of the state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from misstep.checking.jani.errors import ModelError
from misstep.checking.jani.expressions import (
    MAX_CELLS,
    Definition,
    Operand,
    Scope,
    Term,
    literal,
    shape_of,
)
from misstep.checking.jani.nodes import Node, items, member, names, optional, text
from misstep.checking.jani.operators import Scalar, Value
from misstep.checking.jani.types import Type, constant, read_type

Cells = int | tuple["Cells", ...]  # positions in a state: one, or as many as an array has


@dataclass(frozen=True, slots=True)
class Slot:
    """A component of a state: the location of an automaton, a variable, or a cell of an array."""

    name: str
    type: Type
    initial: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    name: str  # with its automaton if the bare name is ambiguous
    bare: str
    owner: str | None  # the automaton; None: global
    type: Type
    initial: Value | None
    transient: bool

    @property
    def slots(self) -> list[Slot]:
        single = Type(self.type.base, self.type.low, self.type.high)
        values: list[Scalar | None] = [None] if self.initial is None else [*flat(self.initial)]
        indices = [""] if self.initial is None else list(_indices(self.initial))
        return [Slot(self.name + i, single, v) for i, v in zip(indices, values, strict=True)]

    def cells(self, first: int) -> Cells:
        return first if self.initial is None else _cells(self.initial, iter(range(first, 2**63)))


def read_constants(document: Node, parameters: Mapping[str, Scalar], trigonometric: bool) -> Scope:
    """The constants; those that the model leaves open take their values from the parameters."""
    scope = Scope({}, trigonometric)
    used = set()
    for node in items(document, "constants"):
        name = text(node, "name")
        if name in scope.names:
            raise ModelError(f"{name!r} is declared twice")
        kind = read_type(member(node, "type"), scope)
        if (optional(node, "value") is None) == (name not in parameters):
            fault = "needs a value" if name not in parameters else "has a value in the model"
            raise ModelError(f"the constant {name!r} {fault}")
        used.add(name)
        expression = parameters[name] if name in parameters else node["value"]
        scope = scope.extended({name: literal(constant(expression, scope, kind))})
    unknown = parameters.keys() - used
    if unknown:
        raise ModelError(f"there is no constant {min(unknown)!r}")
    return scope


def with_functions(owner: Node, scope: Scope) -> Scope:
    """The scope with the functions of the model, or of an automaton."""
    found: dict[str, Definition] = {}
    for node in items(owner, "functions"):
        name = text(node, "name")
        if name in found or name in scope.functions:
            raise ModelError(f"the function {name!r} is declared twice")
        kinds = [read_type(member(own, "type"), scope) for own in items(node, "parameters")]
        own_names = names(node, "parameters")
        result = read_type(member(node, "type"), scope)
        found[name] = Definition(
            tuple((own, k.base, k.dimensions) for own, k in zip(own_names, kinds, strict=True)),
            (result.base, result.dimensions),
            member(node, "body"),
        )
    return replace(scope, functions={**scope.functions, **found})


def read_variable(node: Node, owner: str | None, unique: bool, scope: Scope) -> Variable:
    bare = text(node, "name")
    kind = read_type(member(node, "type"), scope)
    initial = optional(node, "initial-value")
    value = None if initial is None else constant(initial, scope, kind)
    transient = optional(node, "transient")
    if transient not in (None, False, True):
        raise ModelError(f"'transient' of {bare!r} is neither true nor false")
    if value is None and (transient or kind.dimensions):
        raise ModelError(f"the variable {bare!r} has to have an initial value")
    if math.prod(shape_of(value)) > MAX_CELLS:
        raise ModelError(f"the array {bare!r} has more than {MAX_CELLS} cells")
    name = bare if owner is None or unique else f"{owner}.{bare}"
    return Variable(name, bare, owner, kind, value, bool(transient))


def terms_of(cells: Cells, kind: Type) -> Operand:
    """What a variable means in expressions."""
    if isinstance(cells, tuple):
        return tuple(terms_of(cell, kind) for cell in cells)
    return Term(kind.base, itemgetter(cells))


def flat(value: Value) -> Iterator[Scalar]:
    if isinstance(value, tuple):
        for element in value:
            yield from flat(element)
    else:
        yield value


def _indices(value: Value) -> Iterator[str]:
    if isinstance(value, tuple):
        for i, element in enumerate(value):
            yield from (f"[{i}]{rest}" for rest in _indices(element))
    else:
        yield ""


def _cells(value: Value, numbers: Iterator[int]) -> Cells:
    if isinstance(value, tuple):
        return tuple(_cells(element, numbers) for element in value)
    return next(numbers)


__all__ = [
    "Cells",
    "Slot",
    "Variable",
    "flat",
    "read_constants",
    "read_variable",
    "terms_of",
    "with_functions",
]
