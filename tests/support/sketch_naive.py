"""The slow twin of the native sketches: sets of Python, one state at a time, everything from the beginning.

It reads the atoms of a state from the names of facts and from the PDDL files, and shares nothing with the vocabulary,
the compiler and the core that it is compared with; only the reader of files is the same (the cross-check with dlplan
covers that).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from misstep.policies.sketch.document import Literal, Sketch
from misstep.policies.sketch.elements import Element
from misstep.tasks.task import State, Task

Atoms = set[tuple[str, ...]]


def _word(name: str) -> tuple[str, ...]:
    """`on(a, b)` as ("on", "a", "b")."""
    predicate, _, rest = name.partition("(")
    inside = rest.rstrip(")").replace(",", " ").split()
    return (predicate, *inside)


class NaiveSketch:
    def __init__(self, task: Task, sketch: Sketch) -> None:
        self.task = task
        self.sketch = sketch
        lifted = task.lifted
        self.objects = [named.name for named in lifted.objects]
        variable = {
            _word(name.removeprefix("Atom "))
            for names in task.fact_names
            for name in names
            if name.startswith("Atom ")
        }
        initial = {(atom.predicate, *atom.terms) for atom in lifted.init}
        goal = {(one.atom.predicate + "_g", *one.atom.terms) for one in lifted.goal}
        kinds = set()
        declared = self.declared = {predicate.name for predicate in lifted.predicates}
        for named in lifted.objects:
            kind: str | None = named.type
            while kind is not None:
                if kind not in declared:
                    kinds.add((kind, named.name))
                kind = lifted.types[kind]
        self.constant = (initial - variable) | goal | kinds

    def atoms(self, state: State) -> Atoms:
        # A task that the translator finds unsolvable has an atom of its own instead of the domain's.
        atoms = {_word(name) for name in self.task.facts(state)}
        return self.constant | {atom for atom in atoms if atom[0] in self.declared}

    def features(self, state: State) -> list[float]:
        atoms = self.atoms(state)
        return [float(self.value(feature.element, atoms)) for feature in self.sketch.features]

    def permitted(self, state: State) -> list[int]:
        before = self.features(state)
        rules = [
            rule
            for rule in self.sketch.rules
            if all(_holds(literal, before, before) for literal in rule.conditions)
        ]
        result = []
        for operator in self.task.applicable(state):
            after = self.features(self.task.apply(state, operator))
            if any(all(_holds(e, before, after) for e in rule.effects) for rule in rules):
                result.append(operator)
        return result

    def value(self, element: Element, atoms: Atoms) -> Any:
        """A set of objects, a set of pairs, or a number."""
        arguments = [
            self.value(one, atoms) if isinstance(one, Element) else one for one in element.arguments
        ]
        rule = getattr(self, element.constructor, None)
        if rule is not None:
            return rule(atoms, *arguments)
        return getattr(self, "_" + element.constructor)(*arguments)

    def c_primitive(self, atoms: Atoms, predicate: str, place: str) -> set[str]:
        return {atom[1 + int(place)] for atom in atoms if atom[0] == predicate}

    def r_primitive(self, atoms: Atoms, predicate: str, one: str, two: str) -> set[tuple[str, str]]:
        return {(atom[1 + int(one)], atom[1 + int(two)]) for atom in atoms if atom[0] == predicate}

    def b_nullary(self, atoms: Atoms, predicate: str) -> bool:
        return (predicate,) in atoms

    def _c_top(self) -> set[str]:
        return set(self.objects)

    def _c_bot(self) -> set[str]:
        return set()

    def _c_one_of(self, name: str) -> set[str]:
        return {name}

    def _c_and(self, a: set[str], b: set[str]) -> set[str]:
        return a & b

    def _c_not(self, a: set[str]) -> set[str]:
        return set(self.objects) - a

    def _c_some(self, role: set[tuple[str, str]], among: set[str]) -> set[str]:
        return {x for x, y in role if y in among}

    def _c_all(self, role: set[tuple[str, str]], among: set[str]) -> set[str]:
        return {o for o in self.objects if all(y in among for x, y in role if x == o)}

    def _c_equal(self, a: set[tuple[str, str]], b: set[tuple[str, str]]) -> set[str]:
        return {
            o for o in self.objects if all(((o, p) in a) == ((o, p) in b) for p in self.objects)
        }

    def _r_and(self, a: set[tuple[str, str]], b: set[tuple[str, str]]) -> set[tuple[str, str]]:
        return a & b

    def _r_inverse(self, a: set[tuple[str, str]]) -> set[tuple[str, str]]:
        return {(y, x) for x, y in a}

    def _r_transitive_closure(self, a: set[tuple[str, str]]) -> set[tuple[str, str]]:
        closed = set(a)
        while (
            more := {(x, z) for (x, y), (w, z) in itertools.product(closed, a) if y == w} - closed
        ):
            closed |= more
        return closed

    def _r_restrict(self, a: set[tuple[str, str]], among: set[str]) -> set[tuple[str, str]]:
        return {(x, y) for x, y in a if y in among}

    def _n_count(self, a: set[Any]) -> int:
        return len(a)

    def _n_concept_distance(
        self, start: set[str], role: set[tuple[str, str]], end: set[str]
    ) -> float:
        reached = set(start)
        for steps in range(len(self.objects) + 1):
            if reached & end:
                return steps
            reached |= {y for x, y in role if x in reached}
        return math.inf


def _holds(literal: Literal, before: list[float], after: list[float]) -> bool:
    old, new = before[literal.feature], after[literal.feature]
    return {
        "positive": new > 0,
        "zero": new == 0,
        "increased": new > old,
        "decreased": new < old,
        "unchanged": new == old,
    }[literal.test]
