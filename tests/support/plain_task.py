"""The checker's plain evaluator of JANI with what tests need besides: all start states, states by name, probabilities.

task = PlainTask(document)            a model with its first safety property
task.starts(), task.outcomes(state)   states are tuples in the order of task.model.slots
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from misstep.checking.jani import ModelError, SafetyTask, Scalar, State
from misstep.checking.jani.declarations import Slot
from misstep.checking.jani.documents import Documents
from misstep.checking.jani.expressions import Function, condition, evaluate
from misstep.checking.jani.task import is_unbounded
from misstep.checking.jani.types import Type


class PlainTask(SafetyTask):
    def starts(self) -> list[State]:
        """All start states, none twice."""
        start = self.property.get("start")
        if start is not None and start.get("op") == "states-values":
            return list(dict.fromkeys(self.listed_starts(start)))
        candidates = self._initial() if start is None else self._solutions(start)
        return [state for state in candidates if self.is_start(state)]

    def state(self, values: Mapping[str, Scalar]) -> State:
        """The state with these values; what is not named has its initial value."""
        entry = {"variables": [{"var": name, "value": value} for name, value in values.items()]}
        (only,) = self.listed_starts({"values": [entry]})
        return only

    def named(self, state: State) -> dict[str, Scalar]:
        return {slot.name: x for slot, x in zip(self.model.slots, state, strict=True)}

    def holds(self, node: Any, state: State) -> bool:
        return bool(self.condition(node)(state))

    def probabilities(self, state: State, label: str) -> dict[State, float]:
        """Of the label's outcomes, if every enabled step with it is as likely as any other."""
        fired = list(self.model.steps(state, self.labels.index(label)))
        found: dict[State, float] = {}
        for reached in fired:
            for after, probability in reached:
                found[after] = found.get(after, 0.0) + probability / len(fired)
        return found

    def _initial(self) -> Iterator[State]:
        return product(*(self._open(slot) for slot in self.model.slots))

    def _open(self, slot: Slot) -> list[Scalar]:
        return domain(slot.type) if slot.initial is None else [slot.initial]

    def _solutions(self, start: Any) -> Iterator[State]:
        """States that meet a condition, and some more: one slot after the other takes all its values.

        A conjunct is tested as soon as the last variable it names has one.
        """
        slots = self.model.slots
        names = [slot.name for slot in slots]
        scope = self.model.property_scope()
        expression = start.get("exp", True) if start.get("op") == "state-condition" else start
        written: list[list[Any]] = [[] for _ in slots]
        for conjunct in conjuncts(expression):
            used = [p for p in parts(conjunct) if isinstance(p, str) and p in names]
            written[max(map(names.index, used), default=0)].append(conjunct)
        tests: list[list[Function]] = [[condition(c, scope) for c in own] for own in written]
        choices = [self._values(slot, written[i]) for i, slot in enumerate(slots)]

        def extend(state: State) -> Iterator[State]:
            at = len(state)
            if at == len(slots):
                yield state
                return
            for value in choices[at]:
                inner = (*state, value)
                if all(test(inner) for test in tests[at]):
                    yield from extend(inner)

        return extend(())

    def _values(self, slot: Slot, written: list[Any]) -> list[Scalar]:
        for test in written:  # x = 5 leaves one value, also of a real
            if isinstance(test, dict) and test.get("op") == "=" and test["left"] == slot.name:
                try:
                    value = evaluate({"op": "+", "left": test["right"], "right": 0}, {})
                except ModelError:
                    continue
                assert not isinstance(value, tuple)
                return [slot.type.store(float(value) if slot.type.base == "real" else value)]
        if is_unbounded(slot.type) and slot.initial is not None:
            return [slot.initial]
        return domain(slot.type)


def domain(kind: Type) -> list[Scalar]:
    if kind.base == "bool":
        return [False, True]
    if kind.base == "int" and kind.low is not None and kind.high is not None:
        return list(range(int(kind.low), int(kind.high) + 1))
    raise ModelError("a variable without an initial value can have infinitely many")


def load(path: Path) -> PlainTask:
    """A file with all files that it includes."""
    files = {str(p): p.read_bytes() for p in path.parent.rglob("*.jani")}
    return PlainTask(Documents(files).read(str(path)))


def parts(expression: Any) -> Iterator[Any]:
    """The expression and everything inside it."""
    yield expression
    if isinstance(expression, dict):
        for value in expression.values():
            yield from parts(value)
    elif isinstance(expression, list):
        for value in expression:
            yield from parts(value)


def conjuncts(expression: Any) -> Iterator[Any]:
    if isinstance(expression, dict) and expression.get("op") == "∧":
        yield from conjuncts(expression["left"])
        yield from conjuncts(expression["right"])
    else:
        yield expression


__all__ = ["PlainTask", "conjuncts", "domain", "load", "parts"]
