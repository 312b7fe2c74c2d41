"""From a JANI file to a task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.tasks.files import StrPath
from misstep.tasks.jani.document import Documents
from misstep.tasks.jani.edges import read_edges
from misstep.tasks.jani.model import read_model
from misstep.tasks.jani.property import find_property, read_property
from misstep.tasks.jani.task import JaniTask, OutOfBounds, Scale, Silent
from misstep.tasks.models.model import ModelInstance


def load_jani(
    model: StrPath | ModelInstance,
    property: StrPath | None = None,
    parameters: Mapping[str, bool | int | float] | None = None,
    *,
    out_of_bounds: OutOfBounds = "error",
    silent: Silent = "refuse",
    scale: Scale = "none",
) -> JaniTask:
    """Load a model, from its file or as it was generated, and one of its safety properties.

    `property` is the name of a property, or a file with one (`FILE` or `FILE#NAME`); by default it is the
    model's first. `parameters` are the values of constants that the model leaves open. An assignment outside
    the bounds of its variable is an error of the model, or disables the edge. Edges without a label are refused when
    they are met, or offered to policies as a label `τ`. `scale="l1"` divides the distance to each
    comparison by its largest weight.
    """
    for option, chosen, choices in (
        ("out_of_bounds", out_of_bounds, ("error", "disable")),
        ("silent", silent, ("refuse", "as_action")),
        ("scale", scale, ("none", "l1")),
    ):
        if chosen not in choices:
            raise UsageError(f"{option}={chosen!r}", expected=" or ".join(map(repr, choices)))
    if not isinstance(parameters, (Mapping, type(None))):
        raise UsageError(
            f"the constants are {parameters!r:.80}", expected="a dictionary from names to values"
        )
    for name, value in (parameters or {}).items():
        if not isinstance(value, (bool, int, float)):
            raise UsageError(f"the parameter {name} is {value!r}", expected="a Boolean or a number")
    if isinstance(model, ModelInstance):
        (path, text), *_ = model.files.items()
        documents, name = Documents({path: text.encode()}), model.name
    else:
        path, documents, name = str(model), Documents(), Path(model).stem
    return _build(
        documents,
        name,
        {
            "path": path,
            "property": None if property is None else str(property),
            "parameters": dict(parameters or {}),
            "out_of_bounds": out_of_bounds,
            "silent": silent,
            "scale": scale,
        },
    )


def rebuild(source: Mapping[str, Any]) -> JaniTask:
    """The same task again, from the content that was read then."""
    rest = {key: value for key, value in source.items() if key not in ("world", "name", "files")}
    return _build(Documents(source["files"]), source["name"], rest)


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
    core = model.compiler.builder.build(
        labels,
        source["out_of_bounds"] == "disable",
        source["silent"] == "as_action",
        prop.unsafe,
        prop.goal,
        prop.distance,
        source["scale"] == "l1",
        prop.start,
        f"{path}: start",
    )
    task = JaniTask(
        core,
        name=name,
        property_name=prop.name,
        locations={f"{a.name}.location": a.locations for a in model.automata if a.slot is not None},
        interface=prop.interface,
        source={**source, "files": documents.contents},
    )
    if any(
        v.initial is None and None in (v.type.low, v.type.high) and v.type.base != "bool"
        for v in model.variables
    ):
        _ = task.engine.initial_method  # an error if nothing bounds the variable
    return task


__all__ = ["load_jani", "rebuild"]
