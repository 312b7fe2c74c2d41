"""What a JANI model means: its slots and the outcomes of a state, by the letter of the format.

Nothing is compiled, indexed or remembered. Every question walks through all synchronisation
vectors and all edges again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from support.jani_evaluator.expressions import (
    Environment,
    ModelError,
    OutOfBoundsError,
    Value,
    element,
    evaluate,
    integer,
    number,
    parts,
    truth,
)

State = tuple[Value, ...]
SILENT = "τ"
REFUSED = {"rate", "time-progress", "nondet-selection", "input-enable", "functions"}


@dataclass(frozen=True)
class Type:
    base: str  # bool, int, real or array
    low: int | float | None = None
    high: int | float | None = None
    element: Type | None = None

    def store(self, value: Value) -> Value:
        """The value as a variable of this type holds it."""
        if self.base == "bool":
            return truth(value)
        if self.element is not None:
            if not isinstance(value, tuple):
                raise ModelError(f"{value!r} is no array")
            return tuple(self.element.store(item) for item in value)
        # Adding zero turns the negative zero into the positive one: states are compared by bits.
        stored = integer(value) if self.base == "int" else float(number(value)) + 0.0
        too_low = self.low is not None and stored < self.low
        if too_low or (self.high is not None and stored > self.high):
            raise OutOfBoundsError(f"{stored} is not from {self.low} to {self.high}")
        return stored


@dataclass(frozen=True)
class Slot:
    """A component of a state: a location of an instance of an automaton, or a variable."""

    name: str
    instance: int | None  # None: global
    type: Type | None  # None: a location
    initial: Value | None = None


@dataclass(frozen=True)
class Variable:
    name: str
    type: Type
    initial: Value | None
    transient: bool


@dataclass(frozen=True)
class Edge:
    location: str
    action: str | None
    guard: Any
    destinations: list[dict[str, Any]]


Valuation = dict[int | None, dict[str, Value]]  # of the global scope (None) and of each instance
Step = list[tuple[int, Edge]]  # the edges that fire together, with their instances


class Model:
    def __init__(
        self,
        document: Mapping[str, Any],
        parameters: Mapping[str, Value] | None = None,
        *,
        out_of_bounds: str = "error",
        silent: str = "reject",
    ) -> None:
        assert out_of_bounds in ("error", "disable")
        assert silent in ("reject", "as_action")
        self.out_of_bounds, self.silent = out_of_bounds, silent
        if document["type"] not in ("lts", "mdp", "dtmc"):
            raise ModelError(f"the model type {document['type']!r} is not supported")
        self._refuse(document)
        self.constants = self._constants(document, parameters or {})
        self.global_variables = [self._variable(v) for v in document.get("variables", [])]
        self.automata = {a["name"]: a for a in document["automata"]}
        elements = document["system"]["elements"]
        self.instances = [self.automata[e["automaton"]] for e in elements]
        self.local_variables = [
            [self._variable(v) for v in automaton.get("variables", [])]
            for automaton in self.instances
        ]
        self.edges = [
            [
                Edge(
                    edge["location"],
                    edge.get("action"),
                    edge["guard"]["exp"] if "guard" in edge else True,
                    edge["destinations"],
                )
                for edge in automaton["edges"]
            ]
            for automaton in self.instances
        ]
        self.labels = [action["name"] for action in document.get("actions", [])]
        if silent == "as_action":
            self.labels.append(SILENT)
        self.vectors = self._vectors(document["system"].get("syncs"))
        self.slots = self._slots()

    @staticmethod
    def _refuse(document: Mapping[str, Any]) -> None:
        trigonometric = "trigonometric-functions" in document.get("features", [])
        body = {k: v for k, v in document.items() if k not in ("metadata", "features")}
        for part in parts(body):
            if isinstance(part, dict):
                found = REFUSED & {key for key, value in part.items() if value not in (None, [])}
                if found:
                    raise ModelError(f"{min(found)!r} is not supported")
                if part.get("op") in ("sin", "cos") and not trigonometric:
                    raise ModelError(f"{part['op']} without the feature")
                if part.get("type") in ("clock", "continuous"):
                    raise ModelError(f"variables of type {part['type']!r} are not supported")

    def _constants(
        self, document: Mapping[str, Any], parameters: Mapping[str, Value]
    ) -> dict[str, Value]:
        self.constants = {}
        for constant in document.get("constants", []):
            name = constant["name"]
            if name in parameters:
                value = parameters[name]
            elif "value" in constant:
                value = evaluate(constant["value"], self.constants)
            else:
                raise ModelError(f"the constant {name!r} needs a value")
            self.constants[name] = self._type(constant["type"]).store(value)
        unknown = parameters.keys() - self.constants.keys()
        if unknown:
            raise ModelError(f"there is no constant {min(unknown)!r}")
        return self.constants

    def _type(self, description: Any) -> Type:
        if isinstance(description, str):
            if description not in ("bool", "int", "real"):
                raise ModelError(f"the type {description!r} is not supported")
            return Type(description)
        if description["kind"] == "array":
            return Type("array", element=self._type(description["base"]))
        if description["kind"] != "bounded":
            raise ModelError(f"the type {description['kind']!r} is not supported")
        low, high = (
            number(evaluate(description[key], self.constants)) if key in description else None
            for key in ("lower-bound", "upper-bound")
        )
        return Type(description["base"], low, high)

    def _variable(self, description: Mapping[str, Any]) -> Variable:
        kind = self._type(description["type"])
        initial = None
        if "initial-value" in description:
            initial = kind.store(evaluate(description["initial-value"], self.constants))
        transient = bool(description.get("transient", False))
        if transient and initial is None:
            raise ModelError(f"the transient variable {description['name']!r} has no initial value")
        return Variable(description["name"], kind, initial, transient)

    def _vectors(self, syncs: list[Any] | None) -> list[tuple[list[str | None], str]]:
        if syncs is None and len(self.instances) == 1:
            return [([name], name) for name in self.labels if name != SILENT]
        vectors = []
        for sync in syncs or []:
            actions, result = sync["synchronise"], sync.get("result") or SILENT
            if len(actions) != len(self.instances) or all(a is None for a in actions):
                raise ModelError("a synchronisation vector does not fit the system")
            if result != SILENT and result not in self.labels:
                raise ModelError(f"there is no action {result!r}")
            vectors.append((actions, result))
        return vectors

    def _slots(self) -> list[Slot]:
        slots = [
            Slot(automaton["name"], i, None)
            for i, automaton in enumerate(self.instances)
            if len(automaton["locations"]) > 1
        ]
        scopes: list[tuple[int | None, list[Variable]]] = [
            (None, self.global_variables),
            *enumerate(self.local_variables),
        ]
        for scope, variables in scopes:
            slots += [Slot(v.name, scope, v.type, v.initial) for v in variables if not v.transient]
        return slots

    def locations_of(self, instance: int) -> list[str]:
        return [location["name"] for location in self.instances[instance]["locations"]]

    def split(self, state: State) -> tuple[list[str], Valuation]:
        """The location of each instance, and the values of the variables."""
        locations = [self.locations_of(i)[0] for i in range(len(self.instances))]
        values: Valuation = {None: {}} | {i: {} for i in range(len(self.instances))}
        for slot, value in zip(self.slots, state, strict=True):
            if slot.type is None:
                assert slot.instance is not None
                locations[slot.instance] = self.locations_of(slot.instance)[integer(value)]
            else:
                values[slot.instance][slot.name] = value
        return locations, values

    def scope(self, values: Valuation, instance: int) -> Environment:
        return {**self.constants, **values[None], **values[instance]}

    def whole(self, state: State) -> Environment:
        """All that a condition on states may name; a local variable of two instances is neither."""
        _, values = self.split(state)
        return self.names(values)

    def names(self, values: Valuation) -> Environment:
        names: dict[str, Value] = {**self.constants, **values[None]}
        local = [name for i in range(len(self.instances)) for name in values[i]]
        for i in range(len(self.instances)):
            names |= {n: v for n, v in values[i].items() if local.count(n) == 1}
        return names

    def outcomes(self, state: State) -> dict[str, list[State]]:
        """The outcomes of each applicable label, labels in declared order, none twice."""
        locations, values = self.split(state)
        scopes = [self.scope(values, i) for i in range(len(self.instances))]
        found: dict[str, dict[State, None]] = {}
        for label, step in self._steps(locations):
            if not all(truth(evaluate(edge.guard, scopes[i])) for i, edge in step):
                continue
            try:
                reached = [after for after, _ in self._fire(step, locations, values)]
            except OutOfBoundsError:
                if self.out_of_bounds == "error":
                    raise
                continue
            if not reached:
                raise ModelError("an enabled edge without any possible destination")
            if label == SILENT and self.silent == "reject":
                raise ModelError("a silent step is possible")
            found.setdefault(label, {}).update(dict.fromkeys(reached))
        return {label: list(found[label]) for label in self.labels if label in found}

    def probabilities(self, state: State, label: str) -> dict[State, float]:
        """Of the label's outcomes, if every enabled step with it is as likely as any other."""
        locations, values = self.split(state)
        scopes = [self.scope(values, i) for i in range(len(self.instances))]
        fired = []
        for own, step in self._steps(locations):
            if own == label and all(truth(evaluate(e.guard, scopes[i])) for i, e in step):
                try:
                    fired.append(list(self._fire(step, locations, values)))
                except OutOfBoundsError:
                    if self.out_of_bounds == "error":
                        raise
        found: dict[State, float] = {}
        for reached in fired:
            for after, probability in reached:
                found[after] = found.get(after, 0.0) + probability / len(fired)
        return found

    def _steps(self, locations: list[str]) -> Iterator[tuple[str, Step]]:
        def leaving(i: int, action: str | None) -> list[tuple[int, Edge]]:
            here = [e for e in self.edges[i] if e.location == locations[i] and e.action == action]
            return [(i, edge) for edge in here]

        for actions, label in self.vectors:
            taking_part = [leaving(i, a) for i, a in enumerate(actions) if a is not None]
            for combination in product(*taking_part):
                yield label, list(combination)
        for i in range(len(self.instances)):
            for edge in leaving(i, None):
                yield SILENT, [edge]

    def _fire(
        self, step: Step, locations: list[str], values: Valuation
    ) -> Iterator[tuple[State, float]]:
        scopes = {i: self.scope(values, i) for i, _ in step}
        for destinations in product(*(edge.destinations for _, edge in step)):
            probability: int | float = 1
            for (i, _), destination in zip(step, destinations, strict=True):
                given = destination.get("probability", {"exp": 1})
                probability *= number(evaluate(given["exp"], scopes[i]))
            if probability > 0:
                moves = [(i, d) for (i, _), d in zip(step, destinations, strict=True)]
                yield self._reached(moves, locations, values), probability

    def _reached(
        self, moves: list[tuple[int, dict[str, Any]]], locations: list[str], values: Valuation
    ) -> State:
        after = {scope: dict(local) for scope, local in values.items()}
        self._reset_transients(after, locations)
        assignments = [
            (i, a) for i, destination in moves for a in destination.get("assignments", [])
        ]
        for index in sorted({a.get("index", 0) for _, a in assignments}):
            self._assign([(i, a) for i, a in assignments if a.get("index", 0) == index], after)
        reached = list(locations)
        for i, destination in moves:
            reached[i] = destination["location"]
        return tuple(
            after[slot.instance][slot.name]
            if slot.type is not None
            else self.locations_of(slot.instance or 0).index(reached[slot.instance or 0])
            for slot in self.slots
        )

    def _reset_transients(self, values: Valuation, locations: list[str]) -> None:
        for scope, variables in [(None, self.global_variables), *enumerate(self.local_variables)]:
            for variable in variables:
                if variable.transient:
                    assert variable.initial is not None
                    values[scope][variable.name] = variable.initial
        assignments = [
            (i, assignment)
            for i, automaton in enumerate(self.instances)
            for location in automaton["locations"]
            if location["name"] == locations[i]
            for assignment in location.get("transient-values", [])
        ]
        self._assign(assignments, values)

    def _assign(self, assignments: list[tuple[int, Any]], values: Valuation) -> None:
        """Assignments of one index: all read the same values, then all write."""
        writes: dict[tuple[int | None, str, tuple[int, ...]], Value] = {}
        for i, assignment in assignments:
            scope = self.scope(values, i)
            name, path = self._target(assignment["ref"], scope)
            holder = i if name in values[i] else None
            if name not in values[holder]:
                raise ModelError(f"nothing is called {name!r} here")
            for other, other_name, other_path in writes:
                shared = min(len(path), len(other_path))
                if (other, other_name) == (holder, name) and other_path[:shared] == path[:shared]:
                    raise ModelError(f"{name!r} is assigned twice at one index")
            writes[holder, name, path] = evaluate(assignment["value"], scope)
        for (holder, name, path), value in writes.items():
            whole = _replaced(values[holder][name], path, value)
            values[holder][name] = self._type_of(holder, name).store(whole)

    def _target(self, reference: Any, scope: Environment) -> tuple[str, tuple[int, ...]]:
        if isinstance(reference, str):
            return reference, ()
        if reference.get("op") != "aa":
            raise ModelError("this cannot be assigned to")
        name, path = self._target(reference["exp"], scope)
        return name, (*path, integer(evaluate(reference["index"], scope)))

    def _type_of(self, scope: int | None, name: str) -> Type:
        variables = self.global_variables if scope is None else self.local_variables[scope]
        return next(v.type for v in variables if v.name == name)


def _replaced(whole: Value, path: tuple[int, ...], value: Value) -> Value:
    """The array with one of its cells replaced."""
    if not path:
        if isinstance(whole, tuple) and (not isinstance(value, tuple) or len(value) != len(whole)):
            raise ModelError("an array changes its length")
        return value
    inner = _replaced(element(whole, path[0]), path[1:], value)
    assert isinstance(whole, tuple)
    return (*whole[: path[0]], inner, *whole[path[0] + 1 :])
