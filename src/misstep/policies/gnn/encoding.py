"""Encodes states as relations: which atoms over which objects a network sees.

A network sees only atoms of a state: those that are true, the static ones, and the goal as a second
set of relations. The atoms that vary come from a table over the values of the task's variables.
The constant atoms are the same in every state and are treated as further variables with one value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UnsupportedError
from misstep.policies.gnn.relations import GOAL, Relation
from misstep.tasks.pddl.atoms import AtomTable, goal_atoms, type_atoms
from misstep.tasks.pddl.lifted import Atom, LiftedTask
from misstep.tasks.task import Task


@dataclass(frozen=True)
class Encoding:
    """Tables over facts: first the values of each variable, then the constant atoms."""

    relations: tuple[Relation, ...]
    """The relations of the network that have atoms in this task or could have some."""
    node_count: int
    """Objects up to the last one that any atom mentions."""
    variable_offsets: NDArray[np.int64]
    """The fact that stands for value 0 of each variable."""
    constant_facts: NDArray[np.int64]
    slot_relation: NDArray[np.int16]
    """The relation of each fact and argument position; `len(relations)` if there is none."""
    slot_object: NDArray[np.int32]
    """The object of each fact and argument position."""
    last_object: NDArray[np.int32]
    """The greatest object that each fact mentions, or -1."""
    row_capacity: tuple[int, ...]
    """For each relation, the greatest number of its argument positions in any state."""
    always_visible: bool
    """Whether the constant atoms alone mention the last object."""

    @property
    def atoms_per_state(self) -> int:
        """An upper bound."""
        return len(self.variable_offsets) + len(self.constant_facts)


def encode(task: Task, relations: tuple[Relation, ...], where: str) -> Encoding:
    """The tables for a task. `relations` are those of the network; `where` names it in messages."""
    lifted = task.lifted
    goal = list(goal_atoms(lifted, where, "the network is shown nothing else"))
    table = AtomTable(task)
    dynamic = [list(atoms) for atoms in table.of_values]
    seen: set[Atom] = set()
    for values in dynamic:
        for value, atom in enumerate(values):
            if atom is not None and atom in seen:
                values[value] = None  # The same atom in a second variable counts once.
            elif atom is not None:
                seen.add(atom)
    # Types are unary atoms if the network was trained on a domain whose types were compiled that way.
    predicates = {predicate.name for predicate in lifted.predicates}
    wanted = {r.name for r in relations if r.arity == 1 and r.name not in predicates}
    static = [*table.constant, *type_atoms(lifted, wanted)]
    _check_predicates(lifted, relations, [*seen, *static, *goal], where)
    goal = [Atom(atom.predicate + GOAL, atom.terms) for atom in goal]
    constant = list(dict.fromkeys(static + goal))

    facts = [atom for values in dynamic for atom in values] + list(constant)
    objects = {named.name: index for index, named in enumerate(lifted.objects)}
    visible = [r for r in relations if r.arity > 0]
    numbers = {relation.name: number for number, relation in enumerate(visible)}
    width = max((relation.arity for relation in visible), default=1)
    slot_relation = np.full((len(facts), width), len(visible), dtype=np.int16)
    slot_object = np.zeros((len(facts), width), dtype=np.int32)
    last_object = np.full(len(facts), -1, dtype=np.int32)
    for fact, atom in enumerate(facts):
        if atom is None or not atom.terms:  # The network does not see nullary predicates.
            continue
        terms = [objects[term] for term in atom.terms]
        slot_relation[fact, : len(terms)] = numbers[atom.predicate]
        slot_object[fact, : len(terms)] = terms
        last_object[fact] = max(terms)
    sizes = [len(values) for values in dynamic]
    first_constant = sum(sizes)
    constant_facts = np.flatnonzero(last_object[first_constant:] >= 0) + first_constant
    node_count = int(last_object.max(initial=-1)) + 1
    if node_count == 0:
        raise UnsupportedError(
            "no atom of the task mentions an object, so the network sees nothing", where=where
        )
    return Encoding(
        relations=tuple(visible),
        node_count=node_count,
        variable_offsets=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64),
        constant_facts=constant_facts.astype(np.int64),
        slot_relation=slot_relation,
        slot_object=slot_object,
        last_object=last_object,
        row_capacity=_row_capacity(visible, slot_relation[:, 0], sizes),
        always_visible=bool(last_object[constant_facts].max(initial=-1) == node_count - 1),
    )


def _row_capacity(
    relations: list[Relation], of_fact: NDArray[np.int16], sizes: list[int]
) -> tuple[int, ...]:
    """Every variable contributes one atom at most; constant atoms count in full."""
    variables = np.split(of_fact, np.cumsum(sizes))
    possible = [np.unique(values) for values in variables[:-1]] + [variables[-1]]
    counts = np.bincount(np.concatenate(possible), minlength=len(relations) + 1)
    return tuple(int(counts[i]) * relation.arity for i, relation in enumerate(relations))


def _check_predicates(
    lifted: LiftedTask, relations: tuple[Relation, ...], atoms: Iterable[Atom], where: str
) -> None:
    """Checks that the network and the domain have the same predicates."""
    known = {relation.name: relation.arity for relation in relations}
    used = {(atom.predicate, len(atom.terms)) for atom in atoms}
    problems = []
    for name, arity in sorted(used):
        if name not in known and arity > 0:
            problems.append(f"the network lacks the predicate {name}/{arity}")
        elif name in known and known[name] != arity:
            problems.append(f"the network has {name}/{known[name]}, the domain {name}/{arity}")
    declared = {predicate.name for predicate in lifted.predicates} | set(lifted.types)
    for relation in relations[: len(relations) // 2]:
        if relation.arity > 0 and relation.name not in declared:
            problems.append(
                f"the domain has no predicate or type {relation.name} "
                f"(arity {relation.arity} in the network)"
            )
    if problems:
        raise UnsupportedError(
            f"the network does not fit the domain {lifted.domain_name}: " + ", ".join(problems[:4]),
            where=where,
            expected=f"a network trained on the predicates of {lifted.domain_name}",
            hint=f"{len(problems) - 4} more differences" if len(problems) > 4 else None,
        )


__all__ = ["Encoding", "encode"]
