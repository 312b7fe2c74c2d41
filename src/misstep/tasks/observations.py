"""States of planning tasks as arrays, for networks of fixed size and for environments.

Flat: a number 0 or 1 for each fact, that is for each value of each variable, in the order of the SAS file: all values
of variable 0, then those of variable 1, and so on (`names` has them in words). Objects: the atoms themselves, a row
each, `[predicate, object, object, ...]`, with -1 where there is nothing. Predicates and objects are numbered as the
PDDL files declare them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.pddl.names import parse_fact_name
from misstep.tasks.task import Task

NOTHING = -1


class FlatFacts:
    """A vector of 0 and 1 for each state."""

    def __init__(self, task: Task) -> None:
        sizes = [len(names) for names in task.fact_names]
        self.offsets = np.cumsum([0, *sizes])[:-1]
        self.size = sum(sizes)
        self.names = [name for names in task.fact_names for name in names]

    def rows(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        rows = np.zeros((len(states), self.size), np.float32)
        rows[np.arange(len(states))[:, None], states + self.offsets] = 1
        return rows


class ObjectAtoms:
    """Rows of atoms for each state: those that never change first, then one for each variable."""

    def __init__(self, task: Task) -> None:
        lifted = task.lifted
        self.predicates = [predicate.name for predicate in lifted.predicates]
        self.objects = [named.name for named in lifted.objects]
        self.types = sorted(lifted.types)
        self.arity = max((predicate.arity for predicate in lifted.predicates), default=0)
        self._predicate = {name: i for i, name in enumerate(self.predicates)}
        self._object = {name: i for i, name in enumerate(self.objects)}
        changing = [[_atom(name) for name in names] for names in task.fact_names]
        variable = {atom for atoms in changing for atom in atoms}
        self.constant = self._table([atom for atom in lifted.init if atom not in variable])
        self.goals = self._table([literal.atom for literal in lifted.goal])
        self.type_of = np.array([self.types.index(n.types[0]) for n in lifted.objects], np.int32)
        self._values = [self._table(atoms) for atoms in changing]
        self.rows = len(self.constant) + len(self._values)

    def atoms(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Of one state."""
        own = [table[value] for table, value in zip(self._values, values, strict=True)]
        return np.concatenate([self.constant, np.array(own, np.int32).reshape(-1, 1 + self.arity)])

    def _table(self, atoms: list[Atom] | list[Atom | None]) -> NDArray[np.int32]:
        table = np.full((len(atoms), 1 + self.arity), NOTHING, np.int32)
        for row, atom in zip(table, atoms, strict=True):
            if atom is not None and atom.predicate in self._predicate:
                row[0] = self._predicate[atom.predicate]
                row[1 : 1 + len(atom.terms)] = [self._object[term] for term in atom.terms]
        return table


def _atom(name: str) -> Atom | None:
    fact = parse_fact_name(name)
    return Atom(fact.predicate, fact.arguments) if fact is not None and fact.positive else None


__all__ = ["NOTHING", "FlatFacts", "ObjectAtoms"]
