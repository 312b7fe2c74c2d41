"""Sketches evaluated by the original package, `dlplan`, for cross-checks and benchmarks. It is no dependency."""

from __future__ import annotations

import math
from typing import Any

from misstep.policies.sketch.document import parse_sketch
from misstep.tasks.task import State, Task
from support.sketch_naive import NaiveSketch

_INFINITE = 2**31 - 1


class DlplanSketch:
    """The same questions as to the naive twin, whose atoms it is given."""

    def __init__(self, task: Task, text: str) -> None:
        from dlplan.core import InstanceInfo, SyntacticElementFactory, VocabularyInfo
        from dlplan.policy import PolicyFactory

        self.task = task
        self.sketch = parse_sketch(text, "sketch")
        self.naive = NaiveSketch(task, self.sketch)
        lifted = task.lifted
        vocabulary = VocabularyInfo()
        declared = {predicate.name: predicate.arity for predicate in lifted.predicates}
        for name, arity in declared.items():
            vocabulary.add_predicate(name, arity)
            vocabulary.add_predicate(name + "_g", arity)
        for kind in lifted.types:
            if kind not in declared:
                vocabulary.add_predicate(kind, 1)
        for name in self.naive.objects:
            vocabulary.add_constant(name)
        self.instance = InstanceInfo(0, vocabulary)
        for name in self.naive.objects:
            self.instance.add_object(name)
        for predicate, *objects in sorted(self.naive.constant):
            self.instance.add_static_atom(predicate, objects)
        self.atoms: dict[tuple[str, ...], Any] = {}
        self.policy = PolicyFactory(SyntacticElementFactory(vocabulary)).parse_policy(text)
        elements = {f.get_key(): f.get_element() for f in self.policy.get_booleans()}
        elements |= {f.get_key(): f.get_element() for f in self.policy.get_numericals()}
        # dlplan keeps only the features that rules mention.
        self.elements = [elements.get(feature.name) for feature in self.sketch.features]

    def state(self, state: State, index: int = 0) -> Any:
        from dlplan.core import State as DlplanState

        atoms = []
        for atom in sorted(self.naive.atoms(state) - self.naive.constant):
            if atom not in self.atoms:
                self.atoms[atom] = self.instance.add_atom(atom[0], list(atom[1:]))
            atoms.append(self.atoms[atom])
        return DlplanState(index, self.instance, atoms)

    def new_caches(self) -> Any:
        from dlplan.core import DenotationsCaches

        return DenotationsCaches()

    def features(self, state: State) -> list[float | None]:
        """None where the package does not keep the feature."""
        known = self.state(state)
        values = [None if one is None else one.evaluate(known) for one in self.elements]
        return [
            math.inf if value == _INFINITE else None if value is None else float(value)
            for value in values
        ]

    def permitted(self, state: State) -> list[int]:
        before = self.state(state)
        return [
            operator
            for operator in self.task.applicable(state)
            if self.policy.evaluate(before, self.state(self.task.apply(state, operator), 1))
            is not None
        ]
