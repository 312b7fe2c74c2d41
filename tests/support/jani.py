"""Small JANI models, written as Python values."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask

Json = Any


def op(symbol: str, *operands: Json) -> Json:
    """An operation; a chain if there are more operands than the operator takes."""
    if symbol in ("¬", "floor", "ceil", "abs", "sgn", "trc", "sin", "cos"):
        (operand,) = operands
        return {"op": symbol, "exp": operand}
    if symbol == "ite":
        condition, then, other = operands
        return {"op": "ite", "if": condition, "then": then, "else": other}
    left, *rest = operands
    for right in rest:
        left = {"op": symbol, "left": left, "right": right}
    return left


def bounded(low: Json, high: Json, base: str = "int") -> Json:
    return {"kind": "bounded", "base": base, "lower-bound": low, "upper-bound": high}


def variable(name: str, kind: Json, initial: Json = None, **more: Json) -> Json:
    result = {"name": name, "type": kind, **more}
    if initial is not None:
        result["initial-value"] = initial
    return result


def destination(
    assignments: dict[str, Json] | list[Json] | None = None,
    probability: Json = None,
    location: str = "l",
) -> Json:
    if isinstance(assignments, dict):
        assignments = [{"ref": name, "value": value} for name, value in assignments.items()]
    result: Json = {"location": location, "assignments": assignments or []}
    if probability is not None:
        result["probability"] = {"exp": probability}
    return result


def edge(action: str | None, guard: Json, *destinations: Json, location: str = "l") -> Json:
    result: Json = {
        "location": location,
        "guard": {"exp": guard},
        "destinations": list(destinations),
    }
    if action is not None:
        result["action"] = action
    return result


def automaton(
    name: str, edges: list[Json], locations: tuple[str, ...] = ("l",), **more: Json
) -> Json:
    return {
        "name": name,
        "locations": [{"name": location} for location in locations],
        "initial-locations": [locations[0]],
        "edges": edges,
        **more,
    }


def pa(unsafe: Json = False, goal: Json = False, start: Json = None, **more: Json) -> Json:
    expression: Json = {
        "op": "PA",
        "reach": {"op": "state-condition", "exp": unsafe},
        "objective": {"op": "objective", "goal": {"op": "state-condition", "exp": goal}},
        **more,
    }
    if start is not None:
        expression["start"] = start
    return {"name": "safety", "expression": expression}


def model(
    variables: list[Json],
    automata: list[Json] | Json,
    *,
    actions: str = "a b",
    prop: Json = None,
    **more: Json,
) -> Json:
    """A model; a list of edges stands for one automaton with one location."""
    if isinstance(automata, list) and (not automata or "edges" not in automata[0]):
        automata = [automaton("m", automata)]
    result: Json = {
        "jani-version": 1,
        "name": "test",
        "type": "mdp",
        "actions": [{"name": name} for name in actions.split()],
        "variables": variables,
        "automata": automata,
        "system": {"elements": [{"automaton": a["name"]} for a in automata]},
        "properties": [prop or pa()],
        **more,
    }
    return result


def write(document: Json, name: str = "model.jani", folder: Path | None = None) -> Path:
    folder = folder or Path(tempfile.mkdtemp(prefix="jani-"))
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def task(document: Json, **options: Any) -> JaniTask:
    return load_jani(write(document), **options)


def evaluator(variables: list[Json], expression: Json, kind: Json, **options: Any) -> JaniTask:
    """A model whose label `a` writes the value of an expression into its last variable."""
    return task(
        model(
            [*variables, variable("result", kind, {"bool": False, "int": 0}.get(str(kind), 0.0))],
            [edge("a", True, destination({"result": expression}))],
            features=["trigonometric-functions"],
        ),
        **options,
    )


# A truck on a short line: accelerate or brake, and crash behind the end.
_MOVED = {"pos": op("+", "pos", "vel")}
_BEYOND = op("≤", "L", op("+", "pos", "vel"))
_INSIDE = op("<", op("+", "pos", "vel"), "L")
TINY_LINE = model(
    [
        variable("pos", bounded(0, op("-", "L", 1)), 0),
        variable("vel", bounded(0, 2), 0),
        variable("crash", bounded(0, 1), 0),
    ],
    [
        edge(
            "acc",
            op("∧", op("≤", "vel", 1), _INSIDE),
            destination({**_MOVED, "vel": op("+", "vel", 1)}, op("-", 1, "p")),
            destination(_MOVED, "p"),
        ),
        edge(
            "dec",
            op("∧", op("≤", 1, "vel"), _INSIDE),
            destination({**_MOVED, "vel": op("-", "vel", 1)}),
        ),
        edge("acc", _BEYOND, destination({"crash": 1})),
        edge("dec", _BEYOND, destination({"crash": 1})),
    ],
    actions="acc dec",
    constants=[
        {"name": "L", "type": "int", "value": 3},
        {"name": "p", "type": "real", "value": 0.1},
    ],
    prop=pa(
        op("=", "crash", 1),
        op("∧", op("=", "pos", 2), op("=", "vel", 0)),
        {
            "op": "states-values",
            "values": [
                {"variables": [{"var": name, "value": 0} for name in ("pos", "vel", "crash")]}
            ],
        },
    ),
)
