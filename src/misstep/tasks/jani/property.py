"""Properties: where runs start, what is unsafe, what is the goal.

A property of ours is an expression with the operator `PA`: `start` (states or a condition), `reach` (the UNSAFE
states), `objective.goal`, and optionally `x-distance`, a condition that guides the search for unsafe runs in
the place of `reach`. Without `start`, runs begin in the initial states of the model.

A reachability property of JANI can be chosen by its name: `F unsafe`, `true U unsafe` or `G safe`, behind a probability
or a quantifier (`Pmax`, `∀`) and a filter over the initial states. The model does not say whether reaching is good or
bad, so such a property is used only if the user names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, cast

from misstep.errors import UsageError
from misstep.tasks.jani.document import Cursor, Documents
from misstep.tasks.jani.expressions import Python
from misstep.tasks.jani.model import Automaton, ModelReader
from misstep.tasks.jani.types import Type
from misstep.tasks.jani.variables import Variable, flat

State = tuple[bool | int | float, ...]
GIVEN = "(given)"  # the name of the document of a property that the user gave beside the model
MOST_STARTS = 2**21  # more than a file can list, unless it leaves the locations of automata open


@dataclass(frozen=True)
class Property:
    name: str
    unsafe: tuple[int, str]  # an expression and its place
    goal: tuple[int, str]
    distance: int
    start: int | list[State]
    interface: Path | None  # named by the property


def find_property(model: Cursor, choice: str | None, documents: Documents) -> Cursor:
    """The chosen property: by name, or from a file (`FILE` or `FILE#NAME`); by default the model's first."""
    if choice is None:
        return _pick(model, _candidates(model), None)
    file, _, name = choice.partition("#")
    path = Path(file)
    # What the user gave has a name that a property of the model cannot take from it.
    for candidate in _candidates(model) if choice != GIVEN else ():
        if _name(candidate) == choice:
            if documents.may_read(path) and str(path) not in documents.contents and path.is_file():
                raise UsageError(
                    f"both a property of the model and a file are called {choice!r}",
                    where=model.where,
                    expected=f"./{choice} for the file, or another folder for the property",
                )
            return _pick(model, [candidate], choice)
    if str(path) not in documents.contents and not (documents.may_read(path) and path.exists()):
        known = [_name(p) for p in _candidates(model)]
        raise UsageError(
            f"there is no property and no file {choice!r}",
            where=model.where,
            hint="properties of the model: " + (", ".join(known) or "none"),
        )
    other = documents.open(path)
    return _pick(other, _candidates(other), name or None)


def _candidates(node: Cursor) -> list[Cursor]:
    if isinstance(node.value, list):
        return list(node.items())
    if "properties" in node:
        return list(node["properties"].items("a list of properties"))
    return [node] if "expression" in node else []


def _name(node: Cursor) -> str:
    return node["name"].text("a name") if "name" in node else ""


def _pick(place: Cursor, candidates: Iterable[Cursor], name: str | None) -> Cursor:
    others = []
    for candidate in candidates:
        if name is not None and _name(candidate) != name:
            continue
        expression = candidate["expression"]
        if _op(expression) == "PA" or (name is not None and _avoided(expression) is not None):
            return candidate
        others.append(_name(candidate))
    reachable = [own for own in others if own]
    raise place.error(
        "no property of the kind PA" + (f" among {', '.join(others)}" if others else ""),
        "a property that says where runs start, what is unsafe and what is the goal",
        f"--unsafe CONDITION says what is unsafe; --property {reachable[0]} takes what that one reaches, if it is "
        "a reachability property"
        if name is None and reachable
        else "--unsafe CONDITION says what is unsafe",
    )


def _op(node: Cursor) -> str | None:
    return node["op"].text("an operator") if "op" in node else None


def _avoided(expression: Cursor) -> tuple[Cursor, bool] | None:
    """The condition of a reachability property, and whether violating it is unsafe; None for other properties."""
    node = expression
    if _op(node) == "filter" and "values" in node:
        if "states" in node and _op(node["states"]) != "initial":
            node["states"].unsupported("a filter over other states than the initial ones")
        node = node["values"]
    if _op(node) in ("<", "≤", ">", "≥", "=") and _op(node["left"]) in ("Pmin", "Pmax"):
        node = node["left"]
    if _op(node) in ("Pmin", "Pmax", "∀", "∃"):
        node = node["exp"]
    for key in ("step-bounds", "time-bounds", "reward-bounds"):
        if key in node and node.value[key] is not None:
            node[key].unsupported(f"{key} of a property are not supported")
    if _op(node) == "F":
        return node["exp"], False
    if _op(node) == "G":
        inner = node["exp"]
        if _op(inner) == "state-condition":
            if "locations" in inner:
                inner["locations"].unsupported("G of a condition on locations is not supported")
            inner = inner["exp"]
        return inner, True
    if _op(node) == "U" and node["left"].value is True:
        return node["right"], False
    return None


def as_safety(expression: Cursor) -> Any:
    """The property as one of the kind PA: itself, or a reachability property rewritten."""
    avoided = _avoided(expression)
    if avoided is None:
        return expression.value
    reached, negated = avoided
    return {"op": "PA", "reach": {"op": "¬", "exp": reached.value} if negated else reached.value}


def read_property(model: ModelReader, node: Cursor) -> Property:
    builder = model.compiler.builder
    expression = node["expression"]
    if (avoided := _avoided(expression)) is not None:
        reached, negated = avoided
        unsafe = _condition(model, reached)
        if negated:
            unsafe = builder.apply("¬", [unsafe])
        none = (builder.boolean(False), expression.where)
        return Property(_name(node), (unsafe, reached.where), none, unsafe, _initial(model), None)
    unsafe = _condition(model, expression["reach"])
    goal, goal_where = builder.boolean(False), expression.where
    if "objective" in expression and "goal" in expression["objective"]:
        goal_node = expression["objective"]["goal"]
        goal, goal_where = _condition(model, goal_node), goal_node.where
    distance = unsafe
    if "x-distance" in expression:
        distance = _condition(model, expression["x-distance"])
    interface = None
    if "file" in expression:
        name = expression["file"].text("the path of an interface file")
        interface = expression.trail[-1].parent / name
    start = _start(model, expression["start"]) if "start" in expression else _initial(model)
    return Property(
        _name(node),
        (unsafe, expression["reach"].where),
        (goal, goal_where),
        distance,
        start,
        interface,
    )


def _condition(model: ModelReader, node: Cursor) -> int:
    builder = model.compiler.builder
    if "op" not in node or node.value["op"] != "state-condition":
        return model.compiler.condition(node, model.property_scope)
    result = builder.boolean(True)
    if "exp" in node:
        result = model.compiler.condition(node["exp"], model.property_scope)
    for automaton, location in _locations(model, node):
        if automaton.slot is not None:
            here = [builder.variable(automaton.slot), builder.integer(location)]
            result = builder.apply("∧", [builder.apply("=", here), result])
    return result


def _locations(model: ModelReader, node: Cursor) -> list[tuple[Automaton, int]]:
    result = []
    for item in node.list_of("locations"):
        automaton = _automaton(model, item["automaton"])
        result.append((automaton, automaton.location(item["location"])))
    return result


def _automaton(model: ModelReader, node: Cursor) -> Automaton:
    name = node.text("the name of an automaton")
    for automaton in model.automata:
        if automaton.name == name:
            return automaton
    raise node.error(f"there is no automaton {name!r}", "an automaton of the system")


# -- start states ---------------------------------------------------------------------------------


def _start(model: ModelReader, node: Cursor) -> int | list[State]:
    if "op" in node and node.value["op"] == "states-values":
        states: list[State] = []
        for item in node["values"].items("a list of states"):
            states += _listed(model, item, MOST_STARTS - len(states))
        return states
    # All states that satisfy the condition. Locations that it does not name are initial ones, and a variable without
    # bounds has its initial value, since its values cannot be listed.
    conditions = [_condition(model, node)]
    named = {automaton.name for automaton, _ in _locations(model, node)}
    for automaton in model.automata:
        if automaton.name not in named:
            conditions.append(_in_initial_location(model, automaton))
    for variable in _state_variables(model):
        if variable.type.base != "bool" and None in (variable.type.low, variable.type.high):
            conditions += _initial_values(model, variable)
    return _all(model, conditions)


def _initial(model: ModelReader) -> int:
    """The model's own initial states."""
    conditions = []
    for automaton in model.automata:
        conditions.append(_in_initial_location(model, automaton))
        if "restrict-initial" in automaton.node:
            restriction = automaton.node["restrict-initial"]
            conditions.append(model.compiler.condition(restriction, automaton.scope))
    if "restrict-initial" in model.node:
        conditions.append(model.compiler.condition(model.node["restrict-initial"], model.scope))
    for variable in _state_variables(model):
        conditions += _initial_values(model, variable)
    return _all(model, conditions)


def _state_variables(model: ModelReader) -> list[Variable]:
    return [variable for variable in model.variables if not variable.transient]


def _in_initial_location(model: ModelReader, automaton: Automaton) -> int:
    builder = model.compiler.builder
    if automaton.slot is None:
        return builder.boolean(True)
    slot = builder.variable(automaton.slot)
    result = builder.boolean(False)
    for location in automaton.initial_locations:
        here = builder.apply("=", [slot, builder.integer(location)])
        result = builder.apply("∨", [result, here])  # noqa: RUF001
    return result


def _initial_values(model: ModelReader, variable: Variable) -> list[int]:
    builder = model.compiler.builder
    return [
        builder.apply("=", [builder.variable(slot), cast(int, model.compiler.literal(value))])
        for slot, value in variable.cells()
        if value is not None
    ]


def _all(model: ModelReader, conditions: list[int]) -> int:
    builder = model.compiler.builder
    result = builder.boolean(True)
    for condition in conditions:
        result = builder.apply("∧", [result, condition])
    return result


def _listed(model: ModelReader, node: Cursor, most: int) -> list[State]:
    """The states that an entry of a list describes: several if it leaves several initial locations open."""
    values: dict[int, bool | int | float | None] = {}
    for variable in _state_variables(model):
        values.update(variable.cells())
    for item in node.list_of("variables"):
        variable = _variable(model, item)
        value = _value(model, item, variable)
        for (slot, _), cell in zip(_cells(item, variable), flat(value), strict=True):
            values[slot] = cell
    for variable in _state_variables(model):
        if any(values[slot] is None for slot, _ in variable.cells()):
            node.fail(f"{variable.name} has no value", "a value of each variable")
    given = {automaton.name: location for automaton, location in _locations(model, node)}
    options = []
    for automaton in model.automata:
        if automaton.slot is not None:
            chosen = given.get(automaton.name)
            options.append(automaton.initial_locations if chosen is None else [chosen])
    if math.prod(map(len, options)) > most:
        node.unsupported(f"the list stands for more than {MOST_STARTS:,} start states")
    body = tuple(cast(bool | int | float, values[slot]) for slot in sorted(values))
    return [(*locations, *body) for locations in product(*options)]


def _variable(model: ModelReader, item: Cursor) -> Variable:
    name = item["var"].text("the name of a variable")
    automaton = item.get("automaton")
    if automaton is not None and isinstance(automaton.value, str):
        qualified = f"{automaton.value}.{name}"
        if qualified in model.names:
            name = qualified
    if name in model.by_name:
        return model.by_name[name]
    raise item["var"].error(f"there is no variable {name!r}", "a variable of the model")


def _cells(item: Cursor, variable: Variable) -> list[tuple[int, bool | int | float | None]]:
    cells = variable.cells()
    if "index" not in item:
        return cells
    index = item["index"].integer("the index of a cell")
    if len(variable.shape) != 1 or not 0 <= index < variable.size:
        item["index"].fail(f"{variable.name} has no cell {index}", "an index of the array")
    return [cells[index]]


def _value(model: ModelReader, item: Cursor, variable: Variable) -> Python:
    kind = variable.type
    if "index" in item:
        kind = Type(kind.base, kind.low, kind.high)
    node = item["value"]
    if isinstance(node.value, list):  # an array, cell by cell
        if kind.dimensions != 1 or len(node.value) != variable.size:
            node.fail(f"a list of {len(node.value)}", f"{variable.size} values")
        inner = Type(kind.base, kind.low, kind.high)
        return tuple(model.compiler.constant(cell, model.scope, inner) for cell in node.items())
    value = model.compiler.constant(node, model.scope, kind)
    if isinstance(value, tuple) and len(list(flat(value))) != variable.size:
        node.fail("an array of another length", f"{variable.size} values")
    return value


__all__ = ["Property", "State", "as_safety", "find_property", "read_property"]
