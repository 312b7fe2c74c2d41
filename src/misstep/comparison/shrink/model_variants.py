"""Variants of a model: with one start state, and with other values of its constants.

The files of the model stay unchanged, except for constants that the model itself sets. The start state is in a separate
file with a property that differs from the chosen one only in its start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from misstep.campaigns.rows import Values
from misstep.decoding import parse_json
from misstep.tasks.jani.document import Documents
from misstep.tasks.jani.load import rebuild
from misstep.tasks.jani.property import find_property
from misstep.tasks.jani.task import JaniTask

PROPERTY_FILE = "shrunk-start.jani"
_CELL = re.compile(r"(.+)\[(\d+)\]")


@dataclass(frozen=True)
class Variant:
    """A start state and the constants that may be lowered: open constants, and whole numbers that the model sets."""

    state: Values
    opened: tuple[tuple[str, int], ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        return self.opened + self.fixed

    def lowered(self, name: str, value: int) -> Variant:
        return replace(
            self,
            opened=tuple((own, value if own == name else was) for own, was in self.opened),
            fixed=tuple((own, value if own == name else was) for own, was in self.fixed),
        )


def variant_of(task: JaniTask, state: Values) -> Variant:
    """The unchanged model, starting from a state."""
    source = task.source
    given = source["parameters"]
    opened = tuple((name, value) for name, value in given.items() if type(value) is int)
    document = parse_json(source["files"][source["path"]])
    constants = document.get("constants", ()) if isinstance(document, dict) else ()
    fixed = tuple(
        (own["name"], own["value"])
        for own in constants
        if isinstance(own, dict) and type(own.get("value")) is int
    )
    return Variant(state, opened, fixed)


def build(task: JaniTask, variant: Variant, name: str) -> JaniTask:
    """The model of a variant; raises an error if its start is not one of its states."""
    source = task.source
    files = dict(source["files"])
    files[source["path"]] = _with_constants(files[source["path"]], dict(variant.fixed))
    documents = Documents(files, stored=True)
    node = find_property(documents.open(Path(source["path"])), source["property"], documents)
    prop = dict(node.value)
    prop["expression"] = {
        **prop["expression"],
        "start": {"op": "states-values", "values": [_start(task, variant.state)]},
    }
    path = str(node.trail[-1].parent / PROPERTY_FILE)
    files[path] = json.dumps([prop], ensure_ascii=False).encode()
    parameters = {**source["parameters"], **dict(variant.opened)}
    built = rebuild(
        {
            **source,
            "name": name,
            "files": files,
            "property": f"{path}#{prop['name']}",
            "parameters": parameters,
        }
    )
    built.engine.intern(variant.state)
    return built


def _with_constants(content: bytes, values: Mapping[str, int]) -> bytes:
    document = parse_json(content)
    changed = False
    for own in document.get("constants", ()) if isinstance(document, dict) else ():
        if isinstance(own, dict) and own.get("name") in values:
            changed = changed or own["value"] != values[own["name"]]
            own["value"] = values[own["name"]]
    return json.dumps(document, ensure_ascii=False).encode() if changed else content


def _start(task: JaniTask, state: Values) -> dict[str, Any]:
    locations, variables = [], []
    for name, value in zip(task.variable_names, state, strict=True):
        if name in task._locations:
            automaton = name.removesuffix(".location")
            place = task._locations[name][int(value)]
            locations.append({"automaton": automaton, "location": place})
            continue
        cell = _CELL.fullmatch(name)
        if cell is None:
            variables.append({"var": name, "value": value})
        else:
            variables.append({"var": cell[1], "index": int(cell[2]), "value": value})
    return {"locations": locations, "variables": variables}


__all__ = ["Variant", "build", "variant_of"]
