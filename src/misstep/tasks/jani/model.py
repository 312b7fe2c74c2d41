"""A model: its constants, variables, automata and their composition.

A state has a slot for the location of each automaton with more than one location, then a slot for each variable that is
not transient: global ones first, then those of the automata, in the order of the composition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from misstep.tasks.jani.chances import Chances
from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.expressions import Cells, Compiler, Scope
from misstep.tasks.jani.variables import (
    Variable,
    bind,
    declare,
    is_transient,
    read_constants,
    read_functions,
)

MODEL_TYPES = ("lts", "mdp", "dtmc")
OTHER_TYPES = {
    "ctmc": "continuous-time Markov chains",
    "ctmdp": "continuous-time Markov decision processes",
    "ma": "Markov automata",
    "ta": "timed automata",
    "pta": "probabilistic timed automata",
    "sta": "stochastic timed automata",
    "ha": "hybrid automata",
    "pha": "probabilistic hybrid automata",
    "sha": "stochastic hybrid automata",
}


@dataclass
class Automaton:
    name: str
    node: Cursor
    locations: dict[str, int]  # names and numbers
    initial_locations: list[int]
    slot: int | None = None  # of the location; None where there is only one
    scope: Scope = field(default_factory=Scope)
    # The same for guards and probabilities, in which the locations give the values of transient variables.
    reading: Scope = field(default_factory=Scope)

    def location(self, node: Cursor) -> int:
        name = node.text("the name of a location")
        if name not in self.locations:
            node.fail(f"the automaton {self.name} has no location {name!r}", "one of its locations")
        return self.locations[name]


@dataclass
class ModelReader:
    """The data that the parts of the front end share while a model is read."""

    node: Cursor
    compiler: Compiler
    scope: Scope  # global names
    actions: dict[str, int]  # names and numbers
    automata: list[Automaton]
    variables: list[Variable]  # those of the state, then transient ones
    property_scope: Scope  # global names, and names of automata where they are unique
    chances: Chances = field(default_factory=Chances)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(own.name for own in self.variables)

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        """The variables of the state."""
        return {own.name: own for own in reversed(self.variables) if not own.transient}

    @cached_property
    def bound(self) -> dict[int | Cells, Variable]:
        """All variables, by what their names stand for in a scope."""
        return {self.meaning(own): own for own in self.variables}

    def meaning(self, variable: Variable) -> int | Cells:
        """What the name of a variable stands for, where a transient one has no other value."""
        if variable.shape:
            return variable.value
        return self.compiler.builder.variable(variable.first)

    def variable_at(self, slot: int) -> Variable:
        """The variable that has this slot."""
        return self._in_order[bisect_right(self._in_order, slot, key=lambda own: own.first) - 1]

    @cached_property
    def _in_order(self) -> list[Variable]:
        return sorted(self.variables, key=lambda own: own.first)


def read_model(node: Cursor, parameters: Mapping[str, bool | int | float]) -> ModelReader:
    _check_header(node)
    features = frozenset(f.text("the name of a feature") for f in node.list_of("features"))
    compiler = Compiler(features)
    scope = Scope()
    read_constants(node, compiler, scope, parameters)
    read_functions(node, compiler, scope)
    actions = _names(node, "actions")
    automata = [_automaton(element) for element in _elements(node)]
    for automaton in automata:
        automaton.scope = Scope(scope)
        read_functions(automaton.node, compiler, automaton.scope)
        if len(automaton.locations) > 1:
            automaton.slot = compiler.builder.declare(
                f"{automaton.name}.location", "int", 0, len(automaton.locations) - 1, False
            )
    variables, property_scope = _declare_all(node, compiler, scope, automata)
    return ModelReader(node, compiler, scope, actions, automata, variables, property_scope)


def _check_header(node: Cursor) -> None:
    node.object("a JANI model")
    version = node["jani-version"].integer("the version number 1")
    if version != 1:
        node["jani-version"].unsupported(f"version {version} of JANI is not supported")
    kind = node["type"].text("a model type")
    if kind not in MODEL_TYPES:
        node["type"].unsupported(
            f"models of type {kind!r} are not supported"
            + (f" ({OTHER_TYPES[kind]})" if kind in OTHER_TYPES else ""),
            hint="supported are " + ", ".join(MODEL_TYPES),
        )
    if "datatypes" in node and node.value["datatypes"]:
        node["datatypes"].unsupported("datatypes are not supported")


def _names(node: Cursor, key: str) -> dict[str, int]:
    """The names in their order, with their numbers."""
    names: dict[str, int] = {}
    for item in node.list_of(key):
        name = item["name"].text("a name")
        if name in names:
            item["name"].fail(f"{name!r} is declared twice", "distinct names")
        names[name] = len(names)
    return names


def _elements(node: Cursor) -> list[Cursor]:
    """The automata that take part, in the order of the composition."""
    by_name: dict[str, Cursor] = {}
    for automaton in node["automata"].items("a list of automata"):
        name = automaton["name"].text("a name")
        if name in by_name:
            automaton["name"].fail(f"{name!r} is declared twice", "distinct names")
        by_name[name] = automaton
    if "system" not in node:
        if len(by_name) != 1:
            node.fail("'system' is missing", "how the automata are composed")
        return list(by_name.values())
    chosen: list[str] = []
    for element in node["system"]["elements"].items("a list of automata"):
        reference = element["automaton"]
        name = reference.text("the name of an automaton")
        if name not in by_name:
            reference.fail(f"there is no automaton {name!r}", "an automaton of the model")
        if name in chosen:
            reference.unsupported(f"the automaton {name!r} is used twice")
        if "input-enable" in element and element.value["input-enable"]:
            element["input-enable"].unsupported("input-enable is not supported")
        chosen.append(name)
    if not chosen:
        node["system"]["elements"].fail("no automaton takes part", "at least one")
    return [by_name[name] for name in chosen]


def _automaton(node: Cursor) -> Automaton:
    locations = _names(node, "locations")
    if not locations:
        node.fail("an automaton without locations", "at least one")
    for location in node["locations"].items():
        if "time-progress" in location:
            location["time-progress"].unsupported("time-progress conditions are not supported")
    automaton = Automaton(node["name"].value, node, locations, [])
    for initial in node["initial-locations"].items("a list of locations"):
        automaton.initial_locations.append(automaton.location(initial))
    if not automaton.initial_locations:
        node["initial-locations"].fail("no initial location", "at least one")
    return automaton


def _declare_all(
    node: Cursor, compiler: Compiler, scope: Scope, automata: list[Automaton]
) -> tuple[list[Variable], Scope]:
    declarations = [(None, item) for item in node.list_of("variables")] + [
        (automaton, item) for automaton in automata for item in automaton.node.list_of("variables")
    ]
    names = [item["name"].text("a name") for _, item in declarations]
    taken = Counter(names)
    property_scope = Scope(scope)
    variables: list[Variable] = []
    # A state consists of everything before the transient variables.
    for transient in (False, True):
        for (automaton, item), name in zip(declarations, names, strict=True):
            if is_transient(item) != transient:
                continue
            unique = taken[name] == 1
            own = scope if automaton is None else automaton.scope
            # Two automata may use the same name, but it must not hide a global one.
            if own.find(name) is not None:
                item["name"].fail(f"{name!r} is declared twice", "distinct names")
            text = name if automaton is None or unique else f"{automaton.name}.{name}"
            variable = declare(item, text, compiler, scope)
            bind(variable, name, compiler, own)
            if automaton is not None:
                bind(variable, text, compiler, property_scope)
            variables.append(variable)
    return variables, property_scope


__all__ = ["Automaton", "ModelReader", "read_model"]
