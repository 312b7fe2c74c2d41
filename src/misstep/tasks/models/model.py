"""A built-in model: a safety task as data, and the JANI document made from it.

Every model is one automaton with one location, so a state consists of the values of the variables.
The document has two properties with the same unsafety condition and goal. `safety` describes the
initial states exactly, by a condition; `sampled` lists some of them, drawn uniformly, for tools that
cannot sample from a condition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.write import write_generated
from misstep.tasks.files import StrPath
from misstep.tasks.models.expressions import Expression, all_of
from misstep.tasks.parameters import AnyParameter

Json = dict[str, Any]
Start = Mapping[str, int | float]
LOCATION = "here"
AUTOMATON = "system"


@dataclass(frozen=True)
class Variable:
    name: str
    low: int | float
    high: Expression  # may name a constant
    base: str = "int"
    input: bool = True
    """Whether policies should see it."""


def reals(**bounds: float) -> list[Variable]:
    """Real variables in symmetric ranges."""
    return [Variable(name, -bound, bound, "real") for name, bound in bounds.items()]


@dataclass(frozen=True)
class Outcome:
    assignments: Mapping[str, Expression]
    probability: Expression = 1


@dataclass(frozen=True)
class Edge:
    label: str
    guard: Expression
    outcomes: Sequence[Outcome]


def sure(label: str, guard: Sequence[Expression], **assignments: Expression) -> Edge:
    """An edge with one outcome."""
    return Edge(label, all_of(*guard), [Outcome(assignments)])


@dataclass(frozen=True)
class SafetyModel:
    """A safety task. The order of the labels and variables is part of it."""

    labels: Sequence[str]
    variables: Sequence[Variable]
    edges: Sequence[Edge]
    start: Expression
    unsafe: Expression
    goal: Expression
    draw: Callable[[Dice], Start]
    """A uniform draw from the initial states."""
    distance: Expression | None = None
    """Equivalent to `unsafe` or weaker, but better suited to measure how near it is."""
    constants: Mapping[str, int | float] | None = None
    features: Sequence[str] = ()


@dataclass(frozen=True)
class BuiltinModel:
    """A family of models. `build` takes every parameter by name; it may refuse a combination."""

    name: str
    summary: str
    parameters: tuple[AnyParameter, ...]
    build: Callable[..., SafetyModel]


@dataclass(frozen=True)
class ModelInstance:
    """One generated model; its name contains everything that is needed to generate it again."""

    world: ClassVar[str] = "model"
    name: str
    document: Json
    inputs: tuple[str, ...]
    """Variables that policies are meant to see, in order."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(action["name"] for action in self.document["actions"])

    @property
    def text(self) -> str:
        """The document as a file, with one variable, edge or start per line."""
        lines = [f"{_compact(key)}: {_block(value)}" for key, value in self.document.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @property
    def files(self) -> dict[str, str]:
        """The text of the file, by its name."""
        return {f"{self.name}.jani": self.text}

    def write(self, folder: StrPath, *, force: bool = False) -> Path:
        """Write the file into the folder, and return its path; one that differs is replaced only if `force` is set."""
        path = Path(folder) / f"{self.name}.jani"
        write_generated({path: self.text}, "model", force=force)
        return path


def instantiate(
    model: SafetyModel, *, name: str, description: str, dice: Dice, starts: int
) -> ModelInstance:
    drawn = [_ordered(model, model.draw(dice)) for _ in range(max(1, starts))]
    distinct = list({tuple(start.items()): start for start in drawn}.values())
    properties = [_property("safety", model, {"op": "state-condition", "exp": model.start})]
    if starts:
        listed = {"op": "states-values", "values": [_listed(start) for start in distinct]}
        properties.append(_property("sampled", model, listed))
    document: Json = {
        "jani-version": 1,
        "name": name,
        "type": "mdp",
        "metadata": {"description": description},
        "actions": [{"name": label} for label in model.labels],
        "constants": [
            {"name": key, "type": "int" if isinstance(value, int) else "real", "value": value}
            for key, value in (model.constants or {}).items()
        ],
        "variables": [_variable(v, drawn[0][v.name]) for v in model.variables],
        "automata": [
            {
                "name": AUTOMATON,
                "locations": [{"name": LOCATION}],
                "initial-locations": [LOCATION],
                "edges": [_edge(edge) for edge in model.edges],
            }
        ],
        "system": {
            "elements": [{"automaton": AUTOMATON}],
            "syncs": [{"synchronise": [label], "result": label} for label in model.labels],
        },
        "properties": properties,
    }
    if model.features:
        document["features"] = list(model.features)
    return ModelInstance(name, document, tuple(v.name for v in model.variables if v.input))


def _variable(variable: Variable, initial: int | float) -> Json:
    return {
        "name": variable.name,
        "type": {
            "kind": "bounded",
            "base": variable.base,
            "lower-bound": variable.low,
            "upper-bound": variable.high,
        },
        "initial-value": initial,
    }


def _edge(edge: Edge) -> Json:
    return {
        "location": LOCATION,
        "action": edge.label,
        "guard": {"exp": edge.guard},
        "destinations": [_destination(outcome) for outcome in edge.outcomes],
    }


def _destination(outcome: Outcome) -> Json:
    written: Json = {"location": LOCATION}
    if outcome.probability != 1:
        written["probability"] = {"exp": outcome.probability}
    written["assignments"] = [
        {"ref": name, "value": value} for name, value in outcome.assignments.items()
    ]
    return written


def _property(name: str, model: SafetyModel, start: Json) -> Json:
    goal = {"op": "state-condition", "exp": model.goal}
    expression: Json = {
        "op": "PA",
        "start": start,
        "reach": {"op": "state-condition", "exp": model.unsafe},
        "objective": {"op": "objective", "goal": goal},
    }
    if model.distance is not None:
        expression["x-distance"] = {"op": "state-condition", "exp": model.distance}
    return {"name": name, "expression": expression}


def _ordered(model: SafetyModel, start: Start) -> Start:
    return {variable.name: start[variable.name] for variable in model.variables}


def _listed(start: Start) -> Json:
    return {"variables": [{"var": name, "value": value} for name, value in start.items()]}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _block(value: Any) -> str:
    """Writes lists of objects with one item per line, two levels deep, and everything else compactly."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n  " + ",\n  ".join(_item(item) for item in value) + "\n]"
    return _compact(value)


def _item(item: Any) -> str:
    if not isinstance(item, dict) or "edges" not in item:
        return _compact(item)
    parts = []
    for key, value in item.items():
        if key == "edges":
            parts.append('"edges":[\n    ' + ",\n    ".join(map(_compact, value)) + "]")
        else:
            parts.append(f"{_compact(key)}:{_compact(value)}")
    return "{" + ",".join(parts) + "}"


__all__ = [
    "BuiltinModel",
    "Edge",
    "ModelInstance",
    "Outcome",
    "SafetyModel",
    "Start",
    "Variable",
    "instantiate",
    "reals",
    "sure",
]
