"""The shape of an ASNet, which depends only on the domain.

Each action schema has slots: the distinct atoms that its precondition and effect mention, in
textual order, whatever their sign. Each predicate has relations: all slots, over all schemas, that
mention it. Slots and relations are the inputs of the network's modules, so they fix the sizes of
the weights. Equality only filters groundings and has no slot; a predicate that no schema mentions
has no influence and no module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from misstep.errors import UnsupportedError
from misstep.tasks.pddl.lifted import LiftedTask, Schema


class Slot(NamedTuple):
    """An atom of a schema. A term is the number of a parameter, or the name of a constant."""

    predicate: str
    terms: tuple[int | str, ...]

    def __str__(self) -> str:
        terms = (f"?{term}" if isinstance(term, int) else term for term in self.terms)
        return f"({' '.join((self.predicate, *terms))})"


@dataclass(frozen=True)
class SchemaShape:
    name: str
    parameters: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Shape:
    """Equal shapes have weights of equal names, sizes and meanings."""

    domain: str
    predicates: tuple[tuple[str, int], ...]
    """Name and arity of the predicates that have a module."""
    schemas: tuple[SchemaShape, ...]

    @property
    def predicate_index(self) -> dict[str, int]:
        return {name: i for i, (name, _) in enumerate(self.predicates)}

    @property
    def relations(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each predicate: the pairs (schema, slot) that mention it, in order."""
        found: dict[str, list[tuple[int, int]]] = {name: [] for name, _ in self.predicates}
        for a, schema in enumerate(self.schemas):
            for k, slot in enumerate(schema.slots):
                found[slot.predicate].append((a, k))
        return tuple(tuple(found[name]) for name, _ in self.predicates)


class ModuleSize(NamedTuple):
    """The matrix of a module is `outputs` x `inputs`; its bias has `outputs` numbers."""

    name: str
    outputs: int
    inputs: int


def modules(shape: Shape, hidden: int, layers: int) -> Iterator[ModuleSize]:
    """All modules of a network, in the order in which their weights are kept."""
    for layer in range(layers + 1):
        for schema in shape.schemas:
            k = len(schema.slots)
            inputs = 2 * k + 1 if layer == 0 else (k + 1) * hidden
            yield ModuleSize(
                f"action.{layer}.{schema.name}", 1 if layer == layers else hidden, inputs
            )
    for layer in range(layers):
        for (name, _), relations in zip(shape.predicates, shape.relations, strict=True):
            inputs = (len(relations) + (layer > 0)) * hidden
            yield ModuleSize(f"proposition.{layer}.{name}", hidden, inputs)


def shape_of(lifted: LiftedTask) -> Shape:
    """The shape of a domain; it is the same for all tasks of the domain."""
    schemas = tuple(_schema_shape(schema) for schema in lifted.schemas)
    used = {slot.predicate for schema in schemas for slot in schema.slots}
    predicates = tuple((p.name, p.arity) for p in lifted.predicates if p.name in used)
    return Shape(lifted.domain_name, predicates, schemas)


def _schema_shape(schema: Schema) -> SchemaShape:
    if not schema.normalised:
        raise UnsupportedError(
            f"the schema {schema.name} uses {', '.join(schema.unsupported)}",
            expected="preconditions and effects that are conjunctions of literals",
            hint="ASNets have no input for the rest; compile it away",
        )
    number = {parameter.name: i for i, parameter in enumerate(schema.parameters)}
    slots: dict[Slot, None] = {}
    for literal in schema.precondition + schema.effect:
        atom = literal.atom
        if atom.predicate != "=":
            slots[Slot(atom.predicate, tuple(number.get(term, term) for term in atom.terms))] = None
    return SchemaShape(schema.name, len(schema.parameters), tuple(slots))


def difference(expected: Shape, found: Shape) -> str | None:
    """The first difference of the second shape from the first, in words; None if they are equal.

    The name of the domain is ignored: nothing in the network depends on it.
    """
    arities = dict(expected.predicates)
    for name, arity in found.predicates:
        if (name, arity) not in expected.predicates:
            if name in arities:
                return f"the predicate {name} has {arity} arguments, not {arities[name]}"
            return f"there is no predicate {name}/{arity} in it"
    for name, arity in expected.predicates:
        if (name, arity) not in found.predicates:
            return f"it has a predicate {name}/{arity} besides"
    known = {schema.name: schema for schema in expected.schemas}
    for schema in found.schemas:
        if schema.name not in known:
            return f"there is no schema {schema.name} in it"
        if schema != known[schema.name]:
            return _schema_difference(known[schema.name], schema)
    if len(known) != len(found.schemas):
        extra = sorted(set(known) - {schema.name for schema in found.schemas})
        return f"it has a schema {extra[0]} besides"
    if (expected.predicates, expected.schemas) != (found.predicates, found.schemas):
        return "its schemas or predicates come in another order"
    return None


def _schema_difference(expected: SchemaShape, found: SchemaShape) -> str:
    name = found.name
    if expected.parameters != found.parameters:
        return f"the schema {name} has {found.parameters} parameters, not {expected.parameters}"
    for a, b in zip(expected.slots, found.slots, strict=False):
        if a != b:
            return f"the schema {name} mentions {b} where it mentions {a}"
    return f"the schema {name} mentions {len(found.slots)} atoms, not {len(expected.slots)}"


__all__ = ["ModuleSize", "SchemaShape", "Shape", "Slot", "difference", "modules", "shape_of"]
