"""A task as an ASNet sees it: operators by schema, facts by predicate, and how they are related.

The facts are those in the slots of operators; no other fact could influence an operator. If the
translator dropped an atom, the initial state shows why: if the atom holds there, it always holds
(static facts, and facts that no reachable operator deletes); if not, it never holds, and the slot
is MISSING.

The goal flags come from the problem rather than from the ground goal, so that they do not depend on
which facts the translator found to be always true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UnsupportedError
from misstep.policies.asnet.shape import Shape, shape_of
from misstep.tasks.pddl.atoms import fact_sources
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.pddl.names import parse_fact_name, parse_operator_name
from misstep.tasks.task import Task

MISSING = -1
ALWAYS = -1  # in place of the variable of a fact

Integers = NDArray[np.int32]


@dataclass(frozen=True)
class Structure:
    """Operators and facts are numbered by their place in `operators` and `facts`."""

    shape: Shape
    operators: Integers
    """Ids in the task, sorted by schema, then by id."""
    schema_begin: Integers
    """The operators of schema a are those from schema_begin[a] to schema_begin[a + 1]."""
    related: tuple[Integers, ...]
    """For each schema: the fact in each slot, or MISSING; one row per operator."""
    facts: tuple[Atom, ...]
    """Sorted by predicate."""
    predicate_begin: Integers
    fact_variable: Integers
    """The fact holds if this variable has the value below; ALWAYS: it holds in every state."""
    fact_value: Integers
    fact_goal: Integers

    @property
    def slot_predicates(self) -> list[list[int]]:
        """For each schema: the predicate of each slot."""
        index = self.shape.predicate_index
        return [[index[slot.predicate] for slot in schema.slots] for schema in self.shape.schemas]


def structure_of(task: Task, shape: Shape | None = None) -> Structure:
    """Ground the shape of the domain in the task."""
    lifted = task.lifted
    shape = shape or shape_of(lifted)
    by_schema = _operators_by_schema(task, shape)
    sources = fact_sources(task)
    always = set(lifted.init)

    atoms_of: list[list[list[Atom]]] = []  # schema, operator, slot
    named: dict[Atom, None] = {}
    for schema, operators in zip(shape.schemas, by_schema, strict=True):
        rows = []
        for _, arguments in operators:
            row = [
                Atom(
                    slot.predicate,
                    tuple(arguments[t] if isinstance(t, int) else t for t in slot.terms),
                )
                for slot in schema.slots
            ]
            rows.append(row)
            named.update((atom, None) for atom in row if atom in sources or atom in always)
        atoms_of.append(rows)

    order = shape.predicate_index
    facts = tuple(sorted(named, key=lambda atom: (order[atom.predicate], atom.terms)))
    place = {atom: f for f, atom in enumerate(facts)}
    related = tuple(
        np.array([[place.get(atom, MISSING) for atom in row] for row in rows], np.int32).reshape(
            len(rows), len(schema.slots)
        )
        for schema, rows in zip(shape.schemas, atoms_of, strict=True)
    )
    goals = _goals(task)
    predicates = np.array([order[atom.predicate] for atom in facts], np.int64)
    return Structure(
        shape=shape,
        operators=np.array([op for ops in by_schema for op, _ in ops], np.int32),
        schema_begin=_begins([len(operators) for operators in by_schema]),
        related=related,
        facts=facts,
        predicate_begin=_begins(np.bincount(predicates, minlength=len(order)).tolist()),
        fact_variable=np.array([sources.get(atom, (ALWAYS, 0))[0] for atom in facts], np.int32),
        fact_value=np.array([sources.get(atom, (ALWAYS, 0))[1] for atom in facts], np.int32),
        fact_goal=np.array([atom in goals for atom in facts], np.int32),
    )


def _begins(counts: list[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int32)


def _operators_by_schema(task: Task, shape: Shape) -> list[list[tuple[int, tuple[str, ...]]]]:
    index = {schema.name: a for a, schema in enumerate(shape.schemas)}
    by_schema: list[list[tuple[int, tuple[str, ...]]]] = [[] for _ in shape.schemas]
    for op, text in enumerate(task.operator_names):
        name, arguments = parse_operator_name(text)
        if name not in index or shape.schemas[index[name]].parameters != len(arguments):
            raise UnsupportedError(
                f"the operator ({text}) is an instance of no schema of the domain",
                where=task.name,
                hint="the SAS file and the PDDL files must belong together",
            )
        by_schema[index[name]].append((op, arguments))
    return by_schema


def _goals(task: Task) -> set[Atom]:
    lifted = task.lifted
    if not lifted.unsupported_goal:
        return {literal.atom for literal in lifted.goal if literal.positive}
    facts = (parse_fact_name(task.fact_names[variable][value]) for variable, value in task.goal)
    return {Atom(fact.predicate, fact.arguments) for fact in facts if fact and fact.positive}


__all__ = ["ALWAYS", "MISSING", "Structure", "structure_of"]
