"""Write a JANI model as one self-contained file, with a given state as its only start.

A model may consist of several files, leave constants open, and have its property in another file. All of that is put
into one document. The tested property comes first, because the first one is loaded by default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from misstep.campaigns.rows import Values
from misstep.errors import InputFormatError
from misstep.tasks.jani.document import Cursor, Documents
from misstep.tasks.jani.model import ModelReader, read_model
from misstep.tasks.jani.property import as_safety, find_property
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models.model import ModelInstance

JSON = dict[str, Any]
# Options of a loaded model that no file says, and their defaults.
OPTIONS = {"out_of_bounds": "error", "silent": "refuse", "scale": "none"}


def model_file(
    task: JaniTask,
    start: Values | None = None,
    remark: str | None = None,
    interface: str | None = None,
) -> bytes:
    """The model in one file, with the starts of its property or with one start; the remark becomes its description.

    `interface` names a copy of the interface for networks that the property names. Without one, the interface stays
    where it is and is named by its whole path.
    """
    source = task.source
    documents = Documents(source["files"], stored=True)
    node = documents.open(Path(source["path"]))
    chosen = find_property(node, source["property"], documents)
    model: JSON = _whole(node)
    own: JSON = _whole(chosen)
    if (
        own["expression"].get("op") != "PA"
    ):  # a reachability property, which nobody would choose by default
        own["expression"] = as_safety(Cursor(documents, chosen.trail, "", own["expression"]))
    name = own.get("name")
    others = [
        other
        for other in model.get("properties", [])
        if isinstance(other, dict) and other.get("name") != name
    ]
    model["properties"] = [own, *others]
    for constant in model.get("constants", []):
        if constant["name"] in source["parameters"]:
            constant["value"] = source["parameters"][constant["name"]]
    if "file" in own["expression"] and task.interface_file is not None:
        own["expression"]["file"] = interface or str(task.interface_file.absolute())
    if start is not None:
        reader = read_model(node, source["parameters"])
        own["expression"]["start"] = {
            "op": "states-values",
            "values": [_state(reader, tuple(start), task.name)],
        }
    if remark is not None:
        model["metadata"] = {**model.get("metadata", {}), "description": remark}
    return ModelInstance(task.name, model, ()).text.encode()


def _whole(node: Cursor) -> Any:
    """The value with all included files in the place where they are included."""
    if isinstance(node.value, dict):
        return {key: _whole(node[key]) for key in node.value}
    if isinstance(node.value, list):
        return [_whole(item) for item in node.items()]
    return node.value


def _state(reader: ModelReader, state: tuple[bool | int | float, ...], where: str) -> JSON:
    variables = [own for own in reader.variables if not own.transient]
    size = sum(own.size for own in variables)
    located = [own for own in reader.automata if own.slot is not None]
    if len(state) != size + len(located):
        raise InputFormatError(
            f"not a state of {where}: {len(state)} values", expected=str(size + len(located))
        )
    listed = []
    for variable in variables:
        cells = [state[slot] for slot, _ in variable.cells()]
        listed.append({"var": variable.name, "value": _value(cells, variable.shape)})
    locations = []
    for automaton in located:
        assert automaton.slot is not None
        place = int(state[automaton.slot])
        if not 0 <= place < len(automaton.locations):
            raise InputFormatError(f"not a state of {where}: location {place} of {automaton.name}")
        locations.append(
            {"automaton": automaton.name, "location": list(automaton.locations)[place]}
        )
    return {"variables": listed, **({"locations": locations} if locations else {})}


def _value(cells: list[bool | int | float], shape: tuple[int, ...]) -> Any:
    if not shape:
        return cells[0]
    if len(shape) == 1:
        return cells
    return _array(cells, shape)


def _array(cells: list[bool | int | float], shape: tuple[int, ...]) -> Any:
    """Arrays of arrays, as an expression of JANI."""
    if not shape:
        return cells[0]
    part = len(cells) // shape[0] if shape[0] else 0
    pieces = [cells[k * part : (k + 1) * part] for k in range(shape[0])]
    return {"op": "av", "elements": [_array(piece, shape[1:]) for piece in pieces]}


def options_of(task: JaniTask) -> dict[str, str]:
    """The options that the model was loaded with, where they are not the usual ones."""
    return {name: task.source[name] for name in OPTIONS if task.source[name] != OPTIONS[name]}


__all__ = ["OPTIONS", "model_file", "options_of"]
