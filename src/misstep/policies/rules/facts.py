"""The facts of a state as rules look them up: by all arguments, or by some of them.

Objects and relations are numbers. A relation is a predicate, or the atoms that the goal has of a predicate, which never
change. A fact is a tuple of objects. A lookup by some arguments uses an index from these to the other arguments. The
index is built when a state first needs it; for a relation that never changes, it is built once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.pddl.lifted import Atom, LiftedTask

Fact = tuple[int, ...]
Index = dict[Fact, list[Fact]]


class Lookup(NamedTuple):
    """Maps arguments at the positions `given` to those at the positions `wanted`; pairs in `same` must be equal."""

    relation: int
    given: tuple[int, ...]
    wanted: tuple[int, ...]
    same: tuple[tuple[int, int], ...]

    def index_of(self, facts: Iterable[Fact]) -> Index:
        found: Index = {}
        for fact in facts:
            if all(fact[i] == fact[j] for i, j in self.same):
                key = tuple(fact[i] for i in self.given)
                found.setdefault(key, []).append(tuple(fact[i] for i in self.wanted))
        return found


class Facts:
    """What is true in one state."""

    __slots__ = ("indexes", "lookups", "relations")

    def __init__(
        self, relations: list[set[Fact]], indexes: list[Index | None], lookups: list[Lookup]
    ) -> None:
        self.relations = relations
        self.indexes = indexes
        self.lookups = lookups

    def index(self, number: int) -> Index:
        found = self.indexes[number]
        if found is None:
            lookup = self.lookups[number]
            self.indexes[number] = found = lookup.index_of(self.relations[lookup.relation])
        return found


class FactBase:
    """The relations and lookups that a set of rules needs on a task."""

    def __init__(self, lifted: LiftedTask, table: AtomTable, goal: Iterable[Atom]) -> None:
        self.objects = {named.name: number for number, named in enumerate(lifted.objects)}
        self.members = _members(lifted, self.objects)
        self._table = table
        self._goal = list(goal)
        self._numbers: dict[tuple[str, bool], int] = {}
        self._lookups: dict[Lookup, int] = {}

    def relation(self, predicate: str, goal: bool) -> int:
        return self._numbers.setdefault((predicate, goal), len(self._numbers))

    def lookup(self, lookup: Lookup) -> int:
        return self._lookups.setdefault(lookup, len(self._lookups))

    def close(self) -> None:
        """Called when all relations and lookups are known: prepares what is the same in every state."""
        self._constant: list[set[Fact]] = [set() for _ in self._numbers]
        for atoms, goal in ((self._table.constant, False), (self._goal, True)):
            for relation, fact in (self._fact(atom, goal) or (-1, ()) for atom in atoms):
                if relation >= 0:
                    self._constant[relation].add(fact)
        self._changing = [
            [None if atom is None else self._fact(atom, False) for atom in atoms]
            for atoms in self._table.of_values
        ]
        own = {entry[0] for entries in self._changing for entry in entries if entry is not None}
        self._fluent = sorted(own)
        # Variables that no rule looks at cost nothing.
        self._watched = [v for v, entries in enumerate(self._changing) if any(entries)]
        self._list = list(self._lookups)
        self._indexes: list[Index | None] = [
            None if lookup.relation in own else lookup.index_of(self._constant[lookup.relation])
            for lookup in self._list
        ]

    def facts(self, values: Sequence[int]) -> Facts:
        """Of a state."""
        relations = self._constant.copy()
        for relation in self._fluent:
            relations[relation] = self._constant[relation].copy()
        changing = self._changing
        for variable in self._watched:
            entry = changing[variable][values[variable]]
            if entry is not None:
                relations[entry[0]].add(entry[1])
        return Facts(relations, self._indexes.copy(), self._list)

    def _fact(self, atom: Atom, goal: bool) -> tuple[int, Fact] | None:
        relation = self._numbers.get((atom.predicate, goal))
        if relation is None:
            return None
        return relation, tuple(self.objects[term] for term in atom.terms)


def _members(lifted: LiftedTask, objects: dict[str, int]) -> dict[str, frozenset[int]]:
    """The objects of each type, including those of its subtypes."""
    found: dict[str, set[int]] = {name: set() for name in lifted.types}
    for named in lifted.objects:
        for own in named.types:
            for kind in lifted.supertypes(own):
                found.setdefault(kind, set()).add(objects[named.name])
    return {name: frozenset(members) for name, members in found.items()}


__all__ = ["Fact", "FactBase", "Facts", "Lookup"]
