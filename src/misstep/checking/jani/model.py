"""A model: its automata, their synchronisation, and the outcomes of a state.

A vector says which action each automaton contributes to one label. Without vectors, a single automaton takes its edges
alone, and several automata have no common steps. An edge without an action is silent, and so is a vector without a
result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from misstep.checking.jani.declarations import (
    Cells,
    Slot,
    Variable,
    flat,
    read_constants,
    read_variable,
    terms_of,
    with_functions,
)
from misstep.checking.jani.errors import ModelError, OutOfBoundsError, UnsupportedModelError
from misstep.checking.jani.expressions import (
    Function,
    Operand,
    Registers,
    Scope,
    compile_expression,
    condition,
    converted,
    scalar,
    shape_of,
)
from misstep.checking.jani.nodes import Node, items, member, names, optional, refuse, text
from misstep.checking.jani.operators import Scalar
from misstep.checking.jani.selection import read_choices
from misstep.checking.jani.steps import (
    Assignment,
    Destination,
    Edge,
    Effort,
    assign,
    fire,
)
from misstep.checking.jani.types import Type

State = tuple[Scalar, ...]
SILENT = "τ"
SILENT_OPTIONS = ("refuse", "as_action", "step")
Vector = tuple[tuple[int, str | None], ...]  # the automata that take part, with their actions


@dataclass
class Automaton:
    name: str
    node: Node
    locations: dict[str, int]  # names and numbers
    initial: list[int]
    slot: int | None  # of its location; None if it has only one
    edges: dict[tuple[int, str | None], list[Edge]] = field(default_factory=dict)
    transients: dict[int, list[Assignment]] = field(default_factory=dict)  # by location

    def location(self, name: Node) -> int:
        if not isinstance(name, str) or name not in self.locations:
            raise ModelError(f"the automaton {self.name!r} has no location {name!r}")
        return self.locations[name]

    def here(self, registers: Registers) -> int:
        return 0 if self.slot is None else int(registers[self.slot])


class Model:
    def __init__(
        self,
        document: Node,
        parameters: Mapping[str, Scalar] | None = None,
        *,
        out_of_bounds: str = "error",
        silent: str = "refuse",
    ) -> None:
        if out_of_bounds not in ("error", "disable") or silent not in SILENT_OPTIONS:
            raise ModelError(f"no such options: out_of_bounds={out_of_bounds!r}, silent={silent!r}")
        self.document = document
        self._disables = out_of_bounds == "disable"
        _check_header(document)
        features = items(document, "features")
        self.constants = with_functions(
            document,
            read_constants(document, parameters or {}, "trigonometric-functions" in features),
        )
        self.actions = names(document, "actions")
        self._actions = frozenset(self.actions)
        self.automata = _automata(document)
        self.variables = _variables(document, self.automata, self.constants)
        self._transient = {own.bare for own in self.variables if own.transient}
        self._named = {(own.bare, own.owner): own for own in self.variables}
        self._place_variables()
        for automaton in self.automata:
            self._read_automaton(automaton)
        self._read_vectors(silent)

    # Reading

    def _place_variables(self) -> None:
        """Slots of the state come first, then those of transient variables, which are not part of it."""
        self.slots: list[Slot] = []
        for automaton in self.automata:
            if automaton.slot is not None:
                kind = Type("int", 0, len(automaton.locations) - 1)
                self.slots.append(Slot(f"{automaton.name}.location", kind))
        self.cells: dict[str, Cells] = {}
        first = len(self.slots)
        for variable in sorted(self.variables, key=lambda v: v.transient):
            self.cells[variable.name] = variable.cells(first)
            first += len(variable.slots)
            if not variable.transient:
                self.slots += variable.slots
        self._fresh: State = tuple(
            value
            for variable in self.variables
            if variable.transient and variable.initial is not None
            for value in flat(variable.initial)
        )

    def scope(self, owner: str | None, transients: bool = False) -> Scope:
        """The names that expressions of an automaton can use, or global expressions (None)."""
        known = self.constants
        for automaton in self.automata:
            if automaton.name == owner:
                known = with_functions(automaton.node, known)
        return known.extended(
            {
                v.bare: terms_of(self.cells[v.name], v.type)
                for v in self.variables
                if v.owner in (None, owner) and (transients or not v.transient)
            }
        )

    def property_scope(self) -> Scope:
        """The names that properties can use: all variables, with their automaton if the name is ambiguous."""
        return self.constants.extended(
            {v.name: terms_of(self.cells[v.name], v.type) for v in self.variables}
        )

    def _read_automaton(self, automaton: Automaton) -> None:
        plain = self.scope(automaton.name)
        writable = self.scope(automaton.name, transients=True)
        for number, location in enumerate(items(automaton.node, "locations")):
            refuse(location, "time-progress")
            automaton.transients[number] = [
                self._transient_value(item, automaton, plain)
                for item in items(location, "transient-values")
            ]
        for node in items(automaton.node, "edges"):
            refuse(node, "rate")
            if optional(node, "priority") is not None:
                raise UnsupportedModelError("priorities of edges are not supported")
            self._refuse_assignments(node)
            action = optional(node, "action")
            self._check_action(action)
            guard = optional(node, "guard")
            edge = Edge(
                condition(True if guard is None else guard, writable),
                tuple(
                    self._destination(item, automaton, writable)
                    for item in items(node, "destinations")
                ),
            )
            key = automaton.location(member(node, "location")), action
            automaton.edges.setdefault(key, []).append(edge)

    def _check_action(self, name: Node) -> None:
        if name is not None and not (isinstance(name, str) and name in self._actions):
            raise ModelError(f"there is no action {name!r}")

    def _refuse_assignments(self, edge: Node) -> None:
        """Checks that an edge assigns only in its destinations, except rewards, which Storm writes at the edge."""
        for item in items(edge, "assignments"):
            written = member(item, "ref")
            read = json.dumps(written) in json.dumps(member(edge, "destinations"))
            if read or not isinstance(written, str) or written not in self._transient:
                raise UnsupportedModelError("an assignment outside of the destinations of an edge")

    def _destination(self, node: Node, automaton: Automaton, scope: Scope) -> Destination:
        given = optional(node, "probability")
        share = 1.0 if given is None else given
        return Destination(
            converted(scalar(share, scope), "real").value,
            converted(scalar(share, replace(scope, strict=True)), "real").value,
            automaton.location(member(node, "location")),
            tuple(self._assignment(item, automaton, scope) for item in items(node, "assignments")),
        )

    def _transient_value(self, node: Node, automaton: Automaton, plain: Scope) -> Assignment:
        variable, _ = self._target(member(node, "ref"), automaton, plain)
        if not variable.transient:
            raise ModelError(f"{variable.name!r} is not a transient variable")
        if optional(member(node, "value"), "op") == "nondet":
            raise UnsupportedModelError("a non-deterministic value of a transient variable")
        return self._assignment(node, automaton, plain)

    def _assignment(self, node: Node, automaton: Automaton, scope: Scope) -> Assignment:
        level = optional(node, "index")
        if level is not None and type(level) is not int:
            raise ModelError(f"the index {level!r} of an assignment is not an integer")
        variable, indices = self._target(member(node, "ref"), automaton, scope)
        target = self.cells[variable.name]
        single = Type(variable.type.base, variable.type.low, variable.type.high)
        if optional(node["value"], "op") == "nondet":
            if len(indices) != len(shape_of(target)):
                raise UnsupportedModelError("a non-deterministic assignment of a whole array")
            return Assignment(
                level or 0, target, indices, (), single, read_choices(node["value"], scope, single)
            )
        value = compile_expression(member(node, "value"), scope)
        if shape_of(target)[len(indices) :] != shape_of(value) or len(indices) > len(
            shape_of(target)
        ):
            raise ModelError(f"what is assigned to {variable.name!r} has another shape")
        values = tuple(_functions(value, variable.type.base))
        return Assignment(level or 0, target, indices, values, single)

    def _target(
        self, reference: Node, automaton: Automaton, scope: Scope
    ) -> tuple[Variable, tuple[Function, ...]]:
        indices: list[Function] = []
        while isinstance(reference, Mapping) and optional(reference, "op") == "aa":
            index = converted(scalar(member(reference, "index"), scope), "int")
            indices.insert(0, index.value)
            reference = member(reference, "exp")
        if isinstance(reference, str):
            for owner in (None, automaton.name):
                if (reference, owner) in self._named:
                    return self._named[reference, owner], tuple(indices)
        raise ModelError(f"{reference!r} is not a variable of {automaton.name!r}")

    def _read_vectors(self, silent: str) -> None:
        found: list[tuple[str | None, Vector]] = []
        system = optional(self.document, "system")
        if optional(system, "syncs") is not None:
            found += [self._vector(sync) for sync in items(system, "syncs")]
        elif len(self.automata) == 1:
            found += [(action, ((0, action),)) for action in self.actions]
        for i, automaton in enumerate(self.automata):
            if any(action is None for _, action in automaton.edges):
                found.append((None, ((i, None),)))
        results = {result for result, _ in found}
        self.labels = [action for action in self.actions if action in results]
        if silent == "step" and None in results and SILENT in self.labels:
            raise UnsupportedModelError(f"an action is called {SILENT}")
        if silent != "refuse" and None in results and SILENT not in self.labels:
            self.labels.append(SILENT)
        self._vectors: list[list[Vector]] = [[] for _ in self.labels]
        of_label = dict(zip(self.labels, self._vectors, strict=True))
        self._refused: list[Vector] = []
        self._environment: list[Vector] = []  # what it may do whatever label is chosen
        for result, vector in found:
            if result is None and silent == "refuse":
                self._refused.append(vector)
            elif result is None and silent == "step":
                self._environment.append(vector)
            else:
                of_label[SILENT if result is None else result].append(vector)

    @property
    def vectors(self) -> list[list[Vector]]:
        """Of each label."""
        return self._vectors

    @property
    def refused(self) -> list[Vector]:
        """Silent ones that nobody can choose."""
        return self._refused

    @property
    def disables(self) -> bool:
        """Whether an edge that would leave the bounds of a variable does not apply."""
        return self._disables

    def _vector(self, sync: Node) -> tuple[str | None, Vector]:
        actions, result = items(sync, "synchronise"), optional(sync, "result")
        if len(actions) != len(self.automata) or all(action is None for action in actions):
            raise ModelError("a synchronisation vector does not fit the system")
        for action in (*actions, result):
            self._check_action(action)
        return result, tuple((i, action) for i, action in enumerate(actions) if action is not None)

    # Outcomes

    def outcomes(self, state: State) -> dict[str, list[State]]:
        """The outcomes of each label that applies, labels in declared order, no outcome twice."""
        self._loaded(state)  # an error also where no label is left
        found = {label: self.outcomes_of(state, number) for number, label in enumerate(self.labels)}
        return {label: reached for label, reached in found.items() if reached}

    def outcomes_of(self, state: State, label: int) -> list[State]:
        """The outcomes of one label, by its number; none if it does not apply."""
        return list(dict.fromkeys(s for step in self.steps(state, label) for s, _ in step))

    def is_applicable(self, state: State, label: int) -> bool:
        """Like asking for outcomes, but without errors that only an assignment causes."""
        if self._disables:
            return bool(self.outcomes_of(state, label))
        registers = self._loaded(state)
        if self._is_environments(label):
            others = any(self.is_applicable(state, other) for other in range(label))
            return not others and self._can_move(self._environment, registers)
        return self._can_move(self._vectors[label], registers)

    def _can_move(self, vectors: Sequence[Vector], registers: Registers) -> bool:
        return any(any(True for _ in self._enabled(vector, registers)) for vector in vectors)

    def _is_environments(self, label: int) -> bool:
        """Whether it is the label of states where the environment alone can move."""
        return bool(self._environment) and self.labels[label] == SILENT

    def is_dead_end(self, state: State) -> bool:
        self._loaded(state)
        return not any(self.is_applicable(state, label) for label in range(len(self.labels)))

    def steps(self, state: State, label: int) -> Iterator[list[tuple[State, float]]]:
        """For each combination of edges: where they lead, with probabilities."""
        registers = self._loaded(state)
        if self._is_environments(label):
            if not any(self.is_applicable(state, other) for other in range(label)):
                yield from self._ways(self._environment, registers)
            return
        own = list(self._ways(self._vectors[label], registers))
        yield from own
        if own:  # the environment may be faster
            yield from self._ways(self._environment, registers)

    def _ways(
        self, vectors: Sequence[Vector], registers: Registers
    ) -> Iterator[list[tuple[State, float]]]:
        effort = Effort()
        for vector in vectors:
            for edges in self._enabled(vector, registers):
                way = []
                try:
                    for probability, destinations, after in fire(edges, registers, effort):
                        effort.combine()
                        way.append((self._moved(vector, destinations, after), probability))
                    yield way
                except OutOfBoundsError:
                    if not self._disables:
                        raise
                    effort.combine()

    def _loaded(self, state: State) -> Registers:
        """The values of all variables. A silent step that no label chooses is an error of the model."""
        registers = self.registers(state)
        for vector in self._refused:
            for _ in self._enabled(vector, registers):
                raise ModelError("a silent step is possible, and silent steps are refused")
        return registers

    def registers(self, state: State) -> Registers:
        """The state, followed by the values that its locations give to the transient variables."""
        if not self._fresh:
            return state
        given = [a for m in self.automata for a in m.transients[m.here(state)]]
        try:
            return assign(given, (*state, *self._fresh))
        except OutOfBoundsError as error:  # no assignment of an edge, so it disables none
            raise ModelError(f"the value of a transient variable: {error}") from None

    def _enabled(self, vector: Vector, registers: Registers) -> Iterator[Sequence[Edge]]:
        choices = []
        wrong: ModelError | None = None  # matters only if no other automaton forbids the move
        for i, action in vector:
            automaton = self.automata[i]
            edges = automaton.edges.get((automaton.here(registers), action), [])
            try:
                choices.append([edge for edge in edges if edge.guard(registers)])
            except ModelError as error:
                wrong = wrong or error
                continue
            if not choices[-1]:
                return
        if wrong is not None:
            raise wrong
        yield from product(*choices)

    def _moved(
        self, vector: Vector, destinations: Sequence[Destination], registers: Registers
    ) -> State:
        after = list(registers[: len(self.slots)])
        for (i, _), destination in zip(vector, destinations, strict=True):
            slot = self.automata[i].slot
            if slot is not None:
                after[slot] = destination.location
        return tuple(after)


def _functions(operand: Operand, kind: str) -> Iterator[Function]:
    if isinstance(operand, tuple):
        for element in operand:
            yield from _functions(element, kind)
    else:
        yield converted(operand, kind).value


def _check_header(document: Node) -> None:
    if member(document, "jani-version") != 1:
        raise UnsupportedModelError(
            f"version {document['jani-version']!r} of JANI is not supported"
        )
    if member(document, "type") not in ("lts", "mdp", "dtmc"):
        raise UnsupportedModelError(f"the model type {document['type']!r} is not supported")
    refuse(document, "datatypes")


def _automata(document: Node) -> list[Automaton]:
    """Those of the system, in its order."""
    by_name = dict(zip(names(document, "automata"), items(document, "automata"), strict=True))
    system = optional(document, "system")
    chosen = list(by_name)
    if system is not None:
        for element in items(system, "elements"):
            refuse(element, "input-enable")
        chosen = [text(element, "automaton") for element in items(system, "elements")]
    if not chosen or (system is None and len(chosen) > 1):
        raise ModelError("the model does not say which automata take part")
    automata: list[Automaton] = []
    places = 0
    for name in chosen:
        if name not in by_name:
            raise ModelError(f"there is no automaton {name!r}")
        if chosen.count(name) > 1:
            raise UnsupportedModelError(
                f"the automaton {name!r} is used twice, which is not supported"
            )
        node = by_name[name]
        locations = {own: number for number, own in enumerate(names(node, "locations"))}
        automaton = Automaton(name, node, locations, [], places if len(locations) > 1 else None)
        places += len(locations) > 1
        automaton.initial = [automaton.location(x) for x in items(node, "initial-locations")]
        if not automaton.initial:
            raise ModelError(f"the automaton {name!r} has no initial location")
        automata.append(automaton)
    return automata


def _variables(document: Node, automata: list[Automaton], constants: Scope) -> list[Variable]:
    declared: list[tuple[str | None, Node]] = [(None, v) for v in items(document, "variables")]
    declared += [(a.name, v) for a in automata for v in items(a.node, "variables")]
    count = Counter(text(node, "name") for _, node in declared)
    found: dict[tuple[str, str | None], Variable] = {}
    for owner, node in declared:
        variable = read_variable(node, owner, count[text(node, "name")] == 1, constants)
        # Two automata may use the same name, but it must not hide a global variable or a constant.
        clash = {(variable.bare, None), (variable.bare, owner)} & found.keys()
        if clash or variable.bare in constants.names:
            raise ModelError(f"{variable.bare!r} is declared twice")
        found[variable.bare, owner] = variable
    return list(found.values())


__all__ = ["SILENT", "Automaton", "Model", "State"]
