"""A model with its safety property: where runs start, what is unsafe, what is a goal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from support.jani_evaluator.expressions import (
    ModelError,
    Value,
    conjuncts,
    evaluate,
    integer,
    parts,
    truth,
)
from support.jani_evaluator.model import Model, Slot, State, Type


class SafetyTask:
    def __init__(
        self,
        document: Mapping[str, Any],
        property_name: str | None = None,
        parameters: Mapping[str, Value] | None = None,
        **options: str,
    ) -> None:
        self.document = document
        self.model = Model(document, parameters, **options)
        self.expression = self._property(property_name)
        self.labels = self.model.labels

    def _property(self, name: str | None) -> Mapping[str, Any]:
        for prop in self.document.get("properties", []):
            is_safety = prop["expression"].get("op") == "PA"
            if is_safety and name in (None, prop["name"]):
                return dict(prop["expression"])
        raise ModelError("there is no such property")

    def holds(self, condition: Mapping[str, Any], state: State) -> bool:
        if condition["op"] != "state-condition":
            raise ModelError(f"{condition['op']!r} is no condition on a state")
        fixed = self._locations(condition)
        if any(state[i] != value for i, value in fixed.items()):
            return False
        return truth(evaluate(condition.get("exp", True), self.model.whole(state)))

    def is_unsafe(self, state: State) -> bool:
        return self.holds(self.expression["reach"], state)

    def is_goal(self, state: State) -> bool:
        objective = self.expression.get("objective")
        return objective is not None and self.holds(objective["goal"], state)

    def outcomes(self, state: State) -> dict[str, list[State]]:
        return self.model.outcomes(state)

    def state(self, values: Mapping[str, Value]) -> State:
        """The state with these values; what is not named has its initial value."""
        (only,) = self._listed({"variables": [{"var": v, "value": x} for v, x in values.items()]})
        return only

    def named(self, state: State) -> dict[str, Value]:
        return {slot.name: x for slot, x in zip(self.model.slots, state, strict=True)}

    # Initial states

    def starts(self) -> list[State]:
        """All initial states, none twice."""
        start = self.expression.get("start")
        if start is None:
            found = self._initial()
        elif start["op"] == "states-values":
            found = (s for entry in start["values"] for s in self._listed(entry))
        elif start["op"] == "state-condition":
            found = self._solutions(start.get("exp", True), self._locations(start))
        else:
            raise ModelError(f"{start['op']!r} is no description of initial states")
        return list(dict.fromkeys(found))

    def _initial(self) -> Iterator[State]:
        """Of the model itself."""
        choices: list[list[Value]] = []
        for slot in self.model.slots:
            if slot.type is None:
                names = self.model.instances[slot.instance or 0]["initial-locations"]
                choices.append(
                    [self.model.locations_of(slot.instance or 0).index(n) for n in names]
                )
            else:
                choices.append([slot.initial] if slot.initial is not None else domain(slot.type))
        for state in product(*choices):
            _, values = self.model.split(state)
            scopes = [(self.document, self.model.names(values))]
            for i, automaton in enumerate(self.model.instances):
                scopes.append((automaton, self.model.scope(values, i)))
            restrictions = [(d.get("restrict-initial"), scope) for d, scope in scopes]
            if all(r is None or truth(evaluate(r["exp"], scope)) for r, scope in restrictions):
                yield state

    def _listed(self, entry: Mapping[str, Any]) -> Iterator[State]:
        fixed = self._locations(entry)
        for item in entry["variables"]:
            slot = self._slot(item["var"])
            kind = self.model.slots[slot].type
            assert kind is not None
            value = item["value"]
            plain = tuple(value) if isinstance(value, (list, tuple)) else value
            if isinstance(value, (dict, str)):
                plain = evaluate(value, self.model.constants)
            fixed[slot] = kind.store(plain)
        choices: list[list[Value]] = []
        for i, slot_ in enumerate(self.model.slots):
            if i in fixed:
                choices.append([fixed[i]])
            elif slot_.type is None:
                names = self.model.instances[slot_.instance or 0]["initial-locations"]
                where = self.model.locations_of(slot_.instance or 0)
                choices.append([where.index(name) for name in names])
            else:
                choices.append([slot_.initial] if slot_.initial is not None else domain(slot_.type))
        yield from product(*choices)

    def _slot(self, name: str) -> int:
        found = [i for i, s in enumerate(self.model.slots) if s.name == name and s.type is not None]
        if len(found) != 1:
            raise ModelError(f"{len(found)} variables are called {name!r}")
        return found[0]

    def _locations(self, owner: Mapping[str, Any]) -> dict[int, Value]:
        """Slots whose location is prescribed."""
        fixed: dict[int, Value] = {}
        for item in owner.get("locations", []):
            fitting = [
                i
                for i, automaton in enumerate(self.model.instances)
                if automaton["name"] == item["automaton"] and item.get("index", i) == i
            ]
            if len(fitting) != 1:
                raise ModelError(f"{len(fitting)} instances of {item['automaton']!r} fit")
            number = self.model.locations_of(fitting[0]).index(item["location"])
            for i, slot in enumerate(self.model.slots):
                if slot.type is None and slot.instance == fitting[0]:
                    fixed[i] = number
        return fixed

    def _solutions(self, condition: Any, fixed: Mapping[int, Value]) -> Iterator[State]:
        """All states that meet a condition: one slot after the other takes all its values.

        A conjunct is tested as soon as the last variable it names has one.
        """
        slots = self.model.slots
        names = [slot.name for slot in slots]
        tests: list[list[Any]] = [[] for _ in slots]
        for conjunct in conjuncts(condition):
            used = [p for p in parts(conjunct) if isinstance(p, str) and p in names]
            tests[max(map(names.index, used), default=0)].append(conjunct)
        choices = [
            [fixed[i]] if i in fixed else self._values(slot, tests[i])
            for i, slot in enumerate(slots)
        ]

        def extend(state: State, environment: dict[str, Value]) -> Iterator[State]:
            at = len(state)
            if at == len(slots):
                yield state
                return
            for value in choices[at]:
                inner = {**environment, slots[at].name: value}
                if all(truth(evaluate(test, inner)) for test in tests[at]):
                    yield from extend((*state, value), inner)

        yield from extend((), dict(self.model.constants))

    def _values(self, slot: Slot, tests: list[Any]) -> list[Value]:
        if slot.type is None:
            return list(range(len(self.model.locations_of(slot.instance or 0))))
        for test in tests:  # x = 5 leaves one value, also of a real
            if isinstance(test, dict) and test.get("op") == "=" and test["left"] == slot.name:
                try:
                    return [slot.type.store(evaluate(test["right"], self.model.constants))]
                except ModelError:
                    continue
        return domain(slot.type)


def domain(kind: Type) -> list[Value]:
    if kind.base == "bool":
        return [False, True]
    if kind.base == "int" and kind.low is not None and kind.high is not None:
        return list(range(integer(kind.low), integer(kind.high) + 1))
    raise ModelError("a variable without an initial value can have infinitely many")


def load(path: Path, property_name: str | None = None, **arguments: Any) -> SafetyTask:
    return SafetyTask(read(path), property_name, **arguments)


def read(path: Path) -> dict[str, Any]:
    """A file with all files it includes."""

    def resolved(part: Any, folder: Path) -> Any:
        if isinstance(part, list):
            return [resolved(item, folder) for item in part]
        if not isinstance(part, dict):
            return part
        if part.keys() == {"file"}:
            return read(folder / part["file"])
        return {key: resolved(value, folder) for key, value in part.items()}

    document = resolved(json.loads(path.read_text(encoding="utf-8")), path.parent)
    assert isinstance(document, dict)
    return document
