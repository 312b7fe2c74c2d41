"""Edges of the automata, and the synchronisation vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias, cast

from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.expressions import Cells, Scope, Value
from misstep.tasks.jani.model import Automaton, ModelReader
from misstep.tasks.jani.selection import Choices, is_selection, read_choices
from misstep.tasks.jani.types import Type

# Slot, length of the array (0: plain), index, value, level, place; the values of a non-deterministic assignment.
Assignment: TypeAlias = "tuple[int, int, int, int, int, str, Choices | None]"
Destination: TypeAlias = "tuple[int, list[tuple[int, int]], list[Assignment], str]"
Edge: TypeAlias = "tuple[int, list[Destination], str]"

SILENT = -1


def read_edges(model: ModelReader) -> list[str]:
    """Passes all edges and vectors to the builder; returns the labels that policies choose from."""
    bind_transients(model)
    edges = [_by_action(model, automaton) for automaton in model.automata]
    model.chances.shared = any(len(own) > 1 for by in edges for own in by.values())
    vectors = _vectors(model)
    results = {label for label, _ in vectors if label is not None}
    labels = [action for action in model.actions if action in results]
    numbers = {label: number for number, label in enumerate(labels)}
    builder = model.compiler.builder
    groups: dict[tuple[int, str | None], int] = {}

    def group(automaton: int, action: str | None) -> int:
        key = (automaton, action)
        if key not in groups:
            groups[key] = builder.add_group(edges[automaton].get(action, []))
        return groups[key]

    for label, parts in vectors:
        taking_part = [group(i, action) for i, action in enumerate(parts) if action is not None]
        builder.add_vector(SILENT if label is None else numbers[label], taking_part)
    for i in range(len(model.automata)):
        if None in edges[i]:
            builder.add_vector(SILENT, [group(i, None)])
    return labels


def _vectors(model: ModelReader) -> list[tuple[str | None, list[str | None]]]:
    system = model.node.get("system")
    if system is None or "syncs" not in system:
        # With one automaton, every action is its own vector; several automata move only by their vectors.
        return [(action, [action]) for action in model.actions] if len(model.automata) == 1 else []
    vectors = []
    for sync in system["syncs"].items("a list of synchronisation vectors"):
        parts: list[str | None] = []
        for part in sync["synchronise"].items("a list of actions"):
            parts.append(None if part.value is None else _action(model, part))
        if len(parts) != len(model.automata):
            sync["synchronise"].fail(
                f"{len(parts)} actions for {len(model.automata)} automata",
                "an action or null for each element of the system",
            )
        if all(part is None for part in parts):
            sync["synchronise"].fail("no automaton takes part", "at least one action")
        result = sync.get("result")
        label = None if result is None or result.value is None else _action(model, result)
        vectors.append((label, parts))
    return vectors


def _action(model: ModelReader, node: Cursor) -> str:
    name = node.text("the name of an action")
    if name not in model.actions:
        node.fail(f"there is no action {name!r}", "one of the actions of the model")
    return name


def _by_action(model: ModelReader, automaton: Automaton) -> dict[str | None, list[Edge]]:
    result: dict[str | None, list[Edge]] = {}
    for edge in automaton.node["edges"].items("a list of edges"):
        if "rate" in edge and edge.value["rate"] is not None:
            edge["rate"].unsupported("rates are not supported")
        if "priority" in edge and edge.value["priority"] is not None:
            edge["priority"].unsupported("priorities of edges are not supported")
        _check_rewards(model, edge)
        action = edge.get("action")
        label = None if action is None or action.value is None else _action(model, action)
        result.setdefault(label, []).append(_edge(model, automaton, edge))
    return result


def _check_rewards(model: ModelReader, edge: Cursor) -> None:
    """Ignores rewards, which Storm writes as assignments of edges, unlike JANI; refuses all other such assignments."""
    transient = {own.name.rpartition(".")[2] for own in model.variables if own.transient}
    for item in edge.list_of("assignments"):
        written = item["ref"].value
        known = isinstance(written, str) and written in transient
        if not known or json.dumps(written) in json.dumps(edge["destinations"].value):
            item.unsupported(
                "an assignment of an edge, outside of its destinations, is not supported",
                hint="move it into every destination of the edge",
            )


def _edge(model: ModelReader, automaton: Automaton, node: Cursor) -> Edge:
    compiler, builder = model.compiler, model.compiler.builder
    source = automaton.location(node["location"])
    guard = (
        compiler.condition(node["guard"], automaton.reading)
        if "guard" in node
        else builder.boolean(True)
    )
    if automaton.slot is not None:
        here = builder.apply("=", [builder.variable(automaton.slot), builder.integer(source)])
        guard = builder.apply("∧", [here, guard])
    destinations = [
        _destination(model, automaton, destination, source)
        for destination in node["destinations"].items("a list of destinations")
    ]
    if not destinations:
        node["destinations"].fail("an edge without destinations", "at least one")
    return guard, destinations, node.where


def _destination(
    model: ModelReader, automaton: Automaton, node: Cursor, source: int
) -> Destination:
    compiler = model.compiler
    target = automaton.location(node["location"])
    moves = [] if automaton.slot is None or target == source else [(automaton.slot, target)]
    if "probability" in node:
        probability = compiler.of_type(node["probability"], automaton.reading, "real")
        compiler.no_transients(node["probability"], probability)
    else:
        probability = compiler.builder.real(1.0)
    chance = compiler.builder.constant(probability)
    if chance == 0:
        model.chances.impossible.append(node["probability"].where)
    model.chances.given |= chance not in (0, 1)
    assignments: list[Assignment] = []
    written: set[tuple[int, int]] = set()
    for item in node.list_of("assignments"):
        level = item["index"].integer("the index of the assignment") if "index" in item else 0
        for assignment in _assignments(model, item, automaton.scope, level):
            slot, length = assignment[:2]
            if length == 0 and (slot, level) in written:
                item.fail("a variable is assigned twice at one index", "one assignment each")
            written.add((slot, level))
            assignments.append(assignment)
    place = node["probability"].where if "probability" in node else node.where
    return probability, moves, assignments, place


def _assignments(model: ModelReader, node: Cursor, scope: Scope, level: int) -> list[Assignment]:
    """One assignment, or one for each cell of an array."""
    target = _target(model, node["ref"], scope)
    if is_selection(node["value"]):
        return [_selection(model, node["value"], scope, target, level)]
    value = model.compiler.expression(node["value"], scope)
    return _assign(model, node["value"], target, value, level)


def _selection(
    model: ModelReader, node: Cursor, scope: Scope, target: Cells, level: int
) -> Assignment:
    kind = _kind(model, target)
    model.chances.selects = True
    choices = read_choices(
        model.compiler, node, scope, Type(kind.base, kind.low, kind.high, len(target.shape))
    )
    nothing = model.compiler.builder.boolean(False)  # for whoever looks at the value
    slot, length, index = _place(model, target)
    return (slot, length, index, nothing, level, node.where, choices)


def _target(model: ModelReader, node: Cursor, scope: Scope) -> Cells:
    """The cells that an assignment writes; a plain variable is one cell."""
    compiler = model.compiler
    if isinstance(node.value, str):
        found = scope.find(node.value)
        if isinstance(found, (int, Cells)) and found in model.bound:
            return model.bound[found].value
        node.fail(f"{node.value!r} is not a variable here", "a variable")
    if node["op"].text("an operator") != "aa":
        node.fail("this cannot be assigned to", "a variable or a cell of an array")
    array = _target(model, node["exp"], scope)
    if not array.shape:
        node["exp"].fail("this is not an array", "an array")
    return compiler.cell(node, array, compiler.scalar(node["index"], scope))


def _assign(
    model: ModelReader, node: Cursor, target: Cells, value: Value, level: int
) -> list[Assignment]:
    compiler = model.compiler
    if compiler.shape(value) != target.shape:
        node.fail(
            f"an array of shape {list(compiler.shape(value))}"
            if compiler.shape(value)
            else "a single value",
            f"an array of shape {list(target.shape)}" if target.shape else "a single value",
        )
    if target.shape:
        values = compiler.elements(value) if isinstance(value, Cells) else value
        assert isinstance(values, (list, tuple))
        parts = zip(compiler.elements(target), values, strict=True)
        return [one for cells, part in parts for one in _assign(model, node, cells, part, level)]
    scalar = compiler.read(value) if isinstance(value, Cells) else value
    assert isinstance(scalar, int)
    converted = compiler.converted(node, scalar, _kind(model, target).base)
    slot, length, index = _place(model, target)
    return [(slot, length, index, converted, level, node.where, None)]


def _kind(model: ModelReader, target: Cells) -> Type:
    return model.variable_at(target.first).type


def _place(model: ModelReader, target: Cells) -> tuple[int, int, int]:
    """The slot of a cell; or the first slot of its array, the array's length, and the index."""
    if target.offset is None:
        return target.first, 0, -1
    offset = model.compiler.builder.constant(target.offset)
    if isinstance(offset, int):
        return target.first + offset, 0, -1
    return target.first, target.size, target.offset


def bind_transients(model: ModelReader) -> None:
    """Tell the builder which values the locations give to transient variables; conditions read these values.

    Assignments read the transient variables themselves, which other assignments of the same step may have changed.
    """
    builder = model.compiler.builder
    said: dict[int, int] = {}
    for variable in model.variables:
        if variable.transient:
            for slot, value in variable.cells():
                assert value is not None
                said[slot] = cast(int, model.compiler.literal(value))
    for automaton in model.automata:
        for at, slot, expression, where in _transient_values(model, automaton):
            builder.set_transient_value(at, slot, expression, where)
            if at is not None:
                here = builder.apply("=", [builder.variable(at[0]), builder.integer(at[1])])
                expression = builder.apply("ite", [here, expression, said[slot]])
            said[slot] = expression
    for automaton in model.automata:
        automaton.reading = Scope(automaton.scope)
    for variable in model.variables:
        if variable.transient:
            meaning = _shaped([said[slot] for slot, _ in variable.cells()], variable.shape)
            bound = model.meaning(variable)
            scopes = [(a.scope, a.reading) for a in model.automata]
            for names, own in (*scopes, (model.property_scope, model.property_scope)):
                for name in [name for name in _names(names) if names.find(name) == bound]:
                    own.names[name] = meaning


def _shaped(values: list[int], shape: tuple[int, ...]) -> Value:
    if not shape:
        return values[0]
    size = len(values) // shape[0]
    return tuple(_shaped(values[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0]))


def _names(scope: Scope | None) -> set[str]:
    return set() if scope is None else set(scope.names) | _names(scope.outer)


def _transient_values(
    model: ModelReader, automaton: Automaton
) -> Iterator[tuple[tuple[int, int] | None, int, int, str]]:
    """Slot and number of a location (None: the only one), the slot of the variable, its value, the place."""
    for i, location in enumerate(automaton.node["locations"].items()):
        for item in location.list_of("transient-values"):
            target = _target(model, item["ref"], automaton.scope)
            value = model.compiler.expression(item["value"], automaton.scope)
            for slot, length, _, expression, _, where, _ in _assign(
                model, item["value"], target, value, 0
            ):
                transient = any(
                    v.transient and v.first <= slot < v.first + v.size for v in model.variables
                )
                if length > 0 or not transient:
                    item["ref"].fail("this is not a transient variable", "a transient variable")
                model.compiler.no_transients(item["value"], expression)
                yield (
                    None if automaton.slot is None else (automaton.slot, i),
                    slot,
                    expression,
                    where,
                )


__all__ = ["read_edges"]
