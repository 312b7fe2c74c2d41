"""Which domain is this? Told by what its actions do, not by their names alone.

A decider says that a state has no plan. That is true of its own domain, and false of one that has an action more, or
an effect less: with spanners that can be used twice there are more plans. So a domain is known if all of its actions
have the parameters, preconditions and effects of a domain that the decider was written for, whatever the parameters are
called and in which order they stand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import permutations

from misstep.tasks.pddl.lifted import LiftedTask, Literal, Schema

MOST_PARAMETERS = 5
# Domains as `misstep generate` writes them, and floortile also as in the learning track of the competition of 2023. Its
# spanner is ours.
KNOWN = {
    "56c3d02bb1bd17bc17b05feb7c3d4925": "spanner",
    "a5e484b28a4ca161e4ee9a94212c689f": "matching blocksworld",
    "5054156757257df88e311b2fb8dd93f2": "floortile",
    "4ad28108900b5105ede1c8fecf328df6": "floortile",
}


def domain_of(lifted: LiftedTask) -> str | None:
    """The name of the domain, as the deciders have it; None: another one."""
    return KNOWN.get(shape(lifted))


def shape(lifted: LiftedTask) -> str:
    """A digest of all that actions do."""
    parts = sorted(map(_schema, lifted.schemas)) + sorted(lifted.derived)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _schema(schema: Schema) -> str:
    """The least text among those of all orders of its parameters."""
    name = schema.name.replace("-", "").replace("_", "").lower()
    if schema.unsupported or len(schema.parameters) > MOST_PARAMETERS:
        return f"{name} is not known"
    orders = permutations(range(len(schema.parameters)))
    return f"{name} {min(_written(schema, order) for order in orders)}"


def _written(schema: Schema, order: Sequence[int]) -> str:
    numbers = {own.name: f"{i}" for own, i in zip(schema.parameters, order, strict=True)}
    types = sorted(f"{numbers[own.name]} {'|'.join(own.types)}" for own in schema.parameters)
    sections = (
        sorted(_literal(own, numbers) for own in part)
        for part in (schema.precondition, schema.effect)
    )
    return " / ".join(", ".join(part) for part in (types, *sections))


def _literal(literal: Literal, numbers: dict[str, str]) -> str:
    terms = " ".join(numbers.get(term, f"={term}") for term in literal.atom.terms)
    return f"{'' if literal.positive else 'not '}{literal.atom.predicate} {terms}"


__all__ = ["domain_of", "shape"]
