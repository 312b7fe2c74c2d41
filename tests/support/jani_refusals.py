"""A small model for everything in JANI that is refused by name; docs/jani.md shows the messages."""

from __future__ import annotations

from typing import Any

from support.jani import automaton, bounded, destination, edge, model, op, variable

Json = Any
X = variable("x", bounded(0, 3), 0)
STEP = [edge("a", True, destination({"x": 1}))]


def _with(key: str, value: Json) -> Json:
    return model([X], STEP, **{key: value})


def _edge(**more: Json) -> Json:
    return model([X], [{**STEP[0], **more}])


def _assigned(value: Json, variables: list[Json] | None = None, ref: Json = "x") -> Json:
    assignment = {"ref": ref, "value": value}
    return model(variables or [X], [edge("a", True, destination([assignment]))])


def _guarded(guard: Json, variables: list[Json] | None = None) -> Json:
    return model(variables or [X], [edge("a", guard, destination({"x": 1}))])


def _property(expression: Json) -> Json:
    return {**model([X], STEP), "properties": [{"name": "p", "expression": expression}]}


def _nondet(kind: Json, initial: Json) -> Json:
    chosen = {"op": "nondet", "var": "v", "exp": True}
    return _assigned(chosen, [variable("x", kind, initial)])


def _function() -> Json:
    body = {"op": "call", "function": "f", "args": ["n"]}
    parameters = [{"name": "n", "type": "int"}]
    functions = [{"name": "f", "type": "int", "parameters": parameters, "body": body}]
    called = {"op": "call", "function": "f", "args": ["x"]}
    edges = [edge("a", True, destination({"x": called}))]
    return model([X], edges, functions=functions)


def _located(**more: Json) -> Json:
    own = automaton("m", STEP)
    own["locations"][0].update(more)
    return model([X], [own])


def _system(**more: Json) -> Json:
    element = {"automaton": "m", **more}
    return {**model([X], STEP), "system": {"elements": [element]}}


def _used_twice() -> Json:
    twice = {"elements": [{"automaton": "m"}, {"automaton": "m"}]}
    return {**model([X], STEP), "system": twice}


REACHED = op("=", "x", 3)
LOCATED = {
    "op": "state-condition",
    "exp": True,
    "locations": [{"automaton": "m", "location": "l"}],
}
GRID = {
    "op": "av",
    "elements": [{"op": "av", "elements": [0, 1]}, {"op": "av", "elements": [1, 0]}],
}
CELL = {"op": "aa", "exp": {"op": "aa", "exp": GRID, "index": "x"}, "index": 0}
ROW = variable("x", {"kind": "array", "base": bounded(0, 3)}, {"op": "av", "elements": [0, 1]})
NONDET = {"op": "nondet", "var": "v", "exp": True}

# What a user would call it, a model with it, and options of loading.
REFUSED: dict[str, tuple[Json, dict[str, Json]]] = {
    "another version of JANI": (_with("jani-version", 2), {}),
    "Markov automata": (_with("type", "ma"), {}),
    "CTMCs": (_with("type", "ctmc"), {}),
    "timed automata": (_with("type", "ta"), {}),
    "probabilistic timed automata": (_with("type", "pta"), {}),
    "datatypes": (_with("datatypes", [{"name": "d", "members": []}]), {}),
    "clocks": (model([variable("c", "clock", 0)], []), {}),
    "continuous variables": (model([variable("c", "continuous", 0)], []), {}),
    "option types and the like": (
        model([variable("c", {"kind": "option", "base": "int"})], []),
        {},
    ),
    "rates": (_edge(rate={"exp": 1.0}), {}),
    "priorities of edges": (_edge(priority=1), {}),
    "assignments of edges, unless they are rewards": (
        _edge(assignments=[{"ref": "x", "value": 2}]),
        {},
    ),
    "time-progress conditions": (_located(**{"time-progress": {"exp": True}}), {}),
    "an automaton that is used twice": (_used_twice(), {}),
    "input-enable": (_system(**{"input-enable": ["a"]}), {}),
    "functions that call themselves": (_function(), {}),
    "arrays without elements": (
        _guarded(op("=", {"op": "aa", "exp": {"op": "av", "elements": []}, "index": 0}, 0)),
        {},
    ),
    "a computed index into a nested array that is not a variable": (_guarded(op("=", CELL, 0)), {}),
    "other operators, such as tan": (_guarded(op("<", {"op": "tan", "exp": "x"}, 1)), {}),
    "a non-deterministic choice inside an expression": (_assigned(op("+", NONDET, 1)), {}),
    "a non-deterministic array": (_assigned(NONDET, [ROW]), {}),
    "a non-deterministic real number": (_nondet(bounded(0, 3, "real"), 0.0), {}),
    "a non-deterministic integer without bounds": (_nondet("int", 0), {}),
    "a non-deterministic integer of many values": (_nondet(bounded(0, 10_000), 0), {}),
    "an action τ under --silent step": (
        model([X], [*STEP, edge(None, True, destination({"x": 2}))], actions="a τ"),
        {"silent": "step"},
    ),
    "bounded reachability properties": (
        _property({"op": "F", "exp": REACHED, "step-bounds": {"upper": 3}}),
        {"property": "p"},
    ),
    "filters over other states": (
        _property(
            {
                "op": "filter",
                "fun": "max",
                "states": {"op": "deadlock"},
                "values": {"op": "F", "exp": REACHED},
            }
        ),
        {"property": "p"},
    ),
    "`G` of a condition on locations": (_property({"op": "G", "exp": LOCATED}), {"property": "p"}),
}

__all__ = ["REFUSED"]
