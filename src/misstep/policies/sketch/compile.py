"""Compiles a sketch on a task into the flat program that the native core runs (core/sketches/program.h).

Equal elements are computed once, even if several features contain them. The core computes everything that does not
depend on the state only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from misstep._core import Sketch as CoreSketch
from misstep.errors import UnsupportedError
from misstep.policies.sketch.document import Rule, Sketch
from misstep.policies.sketch.elements import Element, Sort
from misstep.policies.sketch.vocabulary import Relation, Vocabulary
from misstep.tasks.task import Task

# The numbers of the core's codes.
STEPS = {
    "c_and": 0,
    "r_and": 0,
    "c_not": 1,
    "c_some": 2,
    "c_all": 3,
    "c_equal": 4,
    "r_inverse": 5,
    "r_transitive_closure": 6,
    "r_restrict": 7,
}
FEATURES = {"b_nullary": 0, "n_count": 1, "n_concept_distance": 2}
TESTS = {"positive": 0, "zero": 1, "increased": 2, "decreased": 3, "unchanged": 4}
INFINITE = 2**31 - 1  # the core's distance between objects that no path connects

MAX_OBJECTS = 2**15
MAX_WORDS = 2**24  # words of 64 bits, for all sets of a state together

Table = NDArray[np.int32]
Row = tuple[int, ...]
Key = tuple[str | int, ...]


def core_sketch(task: Task, sketch: Sketch, choose: str) -> CoreSketch:
    """The sketch on the task; `choose` is `first`, `last` or `hash`."""
    return _Compiler(task, sketch.file).sketch(sketch, choose)


class _Compiler:
    def __init__(self, task: Task, file: str) -> None:
        self.task = task
        self.file = file
        self.vocabulary = Vocabulary(task)
        self.where = file
        self.known: dict[Key, int] = {}
        self.pairs: list[bool] = []
        self.words = 0
        self.always: list[Row] = []
        self.sometimes: list[Row] = []
        self.steps: list[Row] = []

    def sketch(self, sketch: Sketch, choose: str) -> CoreSketch:
        objects = len(self.vocabulary.objects)
        if objects > MAX_OBJECTS:
            raise UnsupportedError(
                f"the task {self.task.name} has {objects} objects",
                where=self.file,
                expected=f"at most {MAX_OBJECTS}",
            )
        features = []
        for feature in sketch.features:
            self.where = f"{self.file}:{feature.line}: feature {feature.name[:40]}"
            features.append(self._feature(feature.element))
        return CoreSketch(
            self.task,
            objects=objects,
            pairs=self.pairs,
            always=_table(self.always, 3),
            sometimes=_table(self.sometimes, 5),
            steps=_table(self.steps, 4),
            features=_table(features, 4),
            rules=len(sketch.rules),
            conditions=_literals(sketch.rules, "conditions"),
            effects=_literals(sketch.rules, "effects"),
            choose=choose,
        )

    def _feature(self, element: Element) -> Row:
        code = FEATURES[element.constructor]
        if element.constructor == "b_nullary":
            name = str(element.arguments[0])
            self._relation(name, 0, "b_nullary")
            return code, self._given(("b_nullary", name), ()), 0, 0
        operands = [
            self._set(argument) for argument in element.arguments if isinstance(argument, Element)
        ]
        return code, *operands, *[0] * (3 - len(operands))

    def _set(self, element: Element) -> int:
        """The number of the set that a concept or role denotes."""
        name, arguments = element.constructor, element.arguments
        match name:
            case "c_top" | "c_bot" | "c_one_of":
                return self._constant(name, [str(argument) for argument in arguments])
            case "c_primitive" | "r_primitive":
                predicate, *positions = map(str, arguments)
                places = tuple(map(int, positions))
                self._relation(predicate, max(places) + 1, str(element))
                return self._given((name, predicate, *places), places)
        operands = [self._set(argument) for argument in arguments if isinstance(argument, Element)]
        key: Key = (name, *operands)
        if key not in self.known:
            target = self._new(key, pairs=element.sort is Sort.ROLE)
            self.steps.append((STEPS[name], target, operands[0], operands[-1]))
        return self.known[key]

    def _constant(self, name: str, arguments: list[str]) -> int:
        key: Key = (name, *arguments)
        if key not in self.known:
            members: Iterable[int] = range(len(self.vocabulary.objects) if name == "c_top" else 0)
            if name == "c_one_of":
                members = [self.vocabulary.object(arguments[0], self.where)]
            target = self._new(key, pairs=False)
            self.always += [(target, 0, member) for member in members]
        return self.known[key]

    def _relation(self, name: str, arity: int, element: str) -> Relation:
        """Checks that a predicate is nullary, or that it has the required positions."""
        relation = self.vocabulary.relation(name, self.where)
        if relation.arity < arity or (arity == 0 and relation.arity > 0):
            positions = f"positions 0 to {relation.arity - 1}" if relation.arity else "no positions"
            raise UnsupportedError(
                f"{element[:80]} does not fit {name}, which has {positions}",
                where=self.where,
                expected="b_nullary of a predicate without arguments"
                if arity == 0
                else f"positions that {name} has",
                hint=f"the sketch must be one for the domain {self.task.lifted.domain_name}",
            )
        return relation

    def _given(self, key: Key, places: tuple[int, ...]) -> int:
        """The set of objects, or pairs of objects, at given positions of atoms."""
        if key not in self.known:
            target = self._new(key, pairs=len(places) == 2)
            relation = self.vocabulary.relation(str(key[1]), self.where)

            def member(atom: tuple[int, ...]) -> Row:
                chosen = [atom[place] for place in places]
                return target, *[0] * (2 - len(chosen)), *chosen

            self.always += [member(atom) for atom in relation.always]
            self.sometimes += [(*source, *member(atom)) for source, atom in relation.sometimes]
        return self.known[key]

    def _new(self, key: Key, *, pairs: bool) -> int:
        objects = len(self.vocabulary.objects)
        self.words += (objects // 64 + 1) * (objects if pairs else 1)
        if self.words > MAX_WORDS:
            raise UnsupportedError(
                f"the features are too large for the {objects} objects of {self.task.name}",
                where=self.where,
                expected=f"sets of at most {MAX_WORDS * 8 // 2**20} MiB in all",
                hint="take a smaller task or a sketch with fewer roles",
            )
        number = self.known[key] = len(self.pairs)
        self.pairs.append(pairs)
        return number


def _literals(rules: tuple[Rule, ...], part: str) -> Table:
    rows = [
        (number, TESTS[literal.test], literal.feature)
        for number, rule in enumerate(rules)
        for literal in (rule.conditions if part == "conditions" else rule.effects)
    ]
    return _table(rows, 3)


def _table(rows: Sequence[Row], width: int) -> Table:
    return np.array(rows, np.int32).reshape(len(rows), width)


__all__ = ["INFINITE", "core_sketch"]
