"""Loads a task from a JANI file, or from a PRISM model, which is translated to JANI.

The unsafe states, the start states and the goal may also be given separately from the model, as conditions in text or
as JSON. They become a property of their own, which is kept with the files of the model like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.tasks.files import StrPath
from misstep.tasks.jani.document import Documents
from misstep.tasks.jani.edges import read_edges
from misstep.tasks.jani.infix import Json, parse_condition
from misstep.tasks.jani.model import read_model
from misstep.tasks.jani.prism import is_prism, translate_prism
from misstep.tasks.jani.property import GIVEN, as_safety, find_property, read_property
from misstep.tasks.jani.task import JaniTask, OutOfBounds, Scale, Silent
from misstep.tasks.jani.variables import named_cells
from misstep.tasks.models.model import ModelInstance

_OPTIONS = {"reach": "--unsafe", "start": "--start", "objective": "--goal"}


def load_jani(
    model: StrPath | ModelInstance,
    property: StrPath | None = None,
    parameters: Mapping[str, bool | int | float] | None = None,
    *,
    out_of_bounds: OutOfBounds = "error",
    silent: Silent = "refuse",
    scale: Scale = "none",
    start: str | Json = None,
    goal: str | Json = None,
    unsafe: str | Json = None,
) -> JaniTask:
    """Load a model, from its file or as it was generated, and one of its safety properties.

    `property` is the name of a property, or a file with one (`FILE` or `FILE#NAME`); by default it is the
    model's first. `parameters` are the values of constants that the model leaves open. An assignment outside
    the bounds of its variable is an error of the model, or disables the edge. Edges without a label are refused when
    they are met, offered to policies as a label `τ`, or taken by the environment (`step`): at any time, whatever label
    is chosen, and alone where no label applies. `scale="l1"` divides the distance to each comparison by its largest
    weight.

    `unsafe`, `start` and `goal` are conditions in the place of those of the property, such as `"speed >= 3 and not
    done"`; with `unsafe` the model needs no property. `start` may also be a JSON file with a condition or states.
    """
    for option, value, choices in (
        ("out_of_bounds", out_of_bounds, ("error", "disable")),
        ("silent", silent, ("refuse", "as_action", "step")),
        ("scale", scale, ("none", "l1")),
    ):
        if value not in choices:
            raise UsageError(f"{option}={value!r}", expected=" or ".join(map(repr, choices)))
    if not isinstance(parameters, (Mapping, type(None))):
        raise UsageError(
            f"the constants are {parameters!r:.80}", expected="a dictionary from names to values"
        )
    for name, number in (parameters or {}).items():
        if not isinstance(number, (bool, int, float)):
            raise UsageError(
                f"the parameter {name} is {number!r}", expected="a Boolean or a number"
            )
    if isinstance(model, ModelInstance):
        (path, text), *_ = model.files.items()
        documents, name = Documents({path: text.encode()}), model.name
    else:
        path, documents, name = str(model), Documents(), Path(model).stem
        if is_prism(Path(model)):
            documents = Documents({path: translate_prism(Path(model))})
    chosen = None if property is None else str(property)
    given = {"start": start, "goal": goal, "unsafe": unsafe}
    if any(own is not None for own in given.values()):
        chosen = _give_property(documents, Path(path), chosen, given)
    return _build(
        documents,
        name,
        {
            "path": path,
            "property": chosen,
            "parameters": dict(parameters or {}),
            "out_of_bounds": out_of_bounds,
            "silent": silent,
            "scale": scale,
        },
    )


def _give_property(
    documents: Documents, model: Path, chosen: str | None, given: Mapping[str, str | Json]
) -> str:
    """Keep a property made from the user's conditions; its other parts come from the chosen property."""
    expression: dict[str, Any] = {"op": "PA"}
    if given["unsafe"] is not None and chosen is not None:
        raise UsageError("both a property and what is unsafe", expected="one of them")
    if given["unsafe"] is None:
        found = find_property(documents.open(model), chosen, documents)
        expression = dict(as_safety(found["expression"]))
    for option, key in (("unsafe", "reach"), ("start", "start")):
        if given[option] is not None:
            expression[key] = _node(given[option], f"--{option}")
    if given["goal"] is not None:
        expression["objective"] = {"op": "objective", "goal": _node(given["goal"], "--goal")}
    document = {"name": "given", "expression": expression}
    try:
        content = json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:  # a byte on the command line that is not UTF-8
        raise UsageError(
            f"a condition holds {error.object[error.start]!r}, which is no character",
            expected="conditions in UTF-8",
        ) from None
    documents.give(GIVEN, content)
    return GIVEN


def _node(given: str | Json, option: str) -> Json:
    """A condition as text, a JANI expression, or a file with one."""
    if not isinstance(given, str):
        return given
    path = Path(given)
    if option == "--start" and given.endswith(".json"):
        return Documents().open(path).value
    return parse_condition(given, option)


def _in_the_users_words(where: str | None) -> str | None:
    """Names the option instead of a place in the property that was made from options."""
    for key, option in _OPTIONS.items():
        if where is not None and where.startswith(f"{GIVEN}: expression.{key}"):
            return option
    return where


def rebuild(source: Mapping[str, Any]) -> JaniTask:
    """The same task again, from the stored content of its files."""
    rest = {key: value for key, value in source.items() if key not in ("world", "name", "files")}
    return _build(Documents(source["files"], stored=True), source["name"], rest)


def _build(documents: Documents, name: str, source: Mapping[str, Any]) -> JaniTask:
    path = Path(source["path"])
    try:
        node = documents.open(path)
        model = read_model(node, source["parameters"])
        labels = read_edges(model)
        prop = read_property(model, find_property(node, source["property"], documents))
    except RecursionError:
        raise InputFormatError(
            "nested too deeply", where=str(path), expected="flatter JSON"
        ) from None
    except InputFormatError as error:
        error.where = _in_the_users_words(error.where)
        raise
    core = model.compiler.builder.build(
        labels,
        source["out_of_bounds"] == "disable",
        source["silent"],
        prop.unsafe,
        prop.goal,
        prop.distance,
        source["scale"] == "l1",
        prop.start,
        f"{path}: start",
    )
    model.chances.silent = source["silent"] == "step" and "τ" in core.labels
    task = JaniTask(
        core,
        name=name,
        property_name=prop.name,
        locations={
            f"{a.name}.location": list(a.locations) for a in model.automata if a.slot is not None
        },
        interface=prop.interface,
        constants=dict(named_cells(model.compiler.constants)),
        source={**source, "files": documents.contents},
        chances=model.chances,
    )
    if any(
        v.initial is None and None in (v.type.low, v.type.high) and v.type.base != "bool"
        for v in model.variables
    ):
        _ = task.engine.initial_method  # an error if nothing bounds the variable
    return task


__all__ = ["load_jani", "rebuild"]
