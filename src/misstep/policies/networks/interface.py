"""Interfaces (.jani2nnet): which variables a network reads, and which label each output stands for.

JSON: `file` is the network, relative to the interface; `input` lists variables, cells of arrays and
locations; `output` lists labels. Not every variable need be an input: a policy may be blind to a
part of the state.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from misstep.errors import InputFormatError
from misstep.files import read_bytes
from misstep.policies.networks.network import Network
from misstep.tasks.domains.write import write_generated

KIND = "an interface between a JANI model and a network (.jani2nnet)"
MAX_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Input:
    """A number that the network reads of a state."""

    name: str  # of the variable, or of the automaton whose location is read
    kind: str = "variable"  # variable, cell or location
    index: int | None = None  # of the cell in its array, or of the automaton in the composition
    automaton: tuple[str, int] | None = None  # whose variable it is; none: global


@dataclass(frozen=True)
class Interface:
    file: Path
    """The network."""
    inputs: tuple[Input, ...]
    labels: tuple[str, ...]
    """The label of each output."""
    filter: bool = True
    """Whether only applicable labels are chosen from."""
    torch_file: Path | None = None
    hidden: tuple[int, ...] = ()
    """Sizes of the hidden layers, for information."""


def read_interface(path: Path) -> Interface:
    where = str(path)
    content = read_bytes(path, MAX_BYTES, KIND)
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        _refuse("this is no JSON", where)
    if not isinstance(document, dict):
        _refuse("this is no JSON object", where)
    file, torch_file = document.get("file"), document.get("torch-file")
    if not isinstance(file, str) or not file:
        _refuse("it names no file with the network", where)
    filtered = document.get("filter", True)
    if not isinstance(filtered, bool):
        _refuse(f"filter is {filtered!r:.60}, not true or false", where)
    inputs = _listed(document, "input", where)
    labels = _listed(document, "output", where)
    for label in labels:
        if not isinstance(label, str):
            _refuse(f"an output is {label!r:.60}, not a label", where)
    if len(set(labels)) != len(labels):
        _refuse("two outputs have one label", where)
    hidden = document.get("elements", [])
    known = isinstance(hidden, list) and all(isinstance(size, int) for size in hidden)
    return Interface(
        path.parent / file,
        tuple(_input(entry, number, where) for number, entry in enumerate(inputs)),
        tuple(labels),
        filtered,
        path.parent / torch_file if isinstance(torch_file, str) else None,
        tuple(hidden) if known else (),
    )


def _listed(document: dict[str, Any], key: str, where: str) -> list[Any]:
    listed = document.get(key)
    if not isinstance(listed, list) or not listed:
        _refuse(f"there is no list {key!r}", where)
    return listed


def _input(entry: Any, number: int, where: str) -> Input:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        _refuse(f"input {number} has no name", where)
    name, index = entry["name"], entry.get("index")
    if index is not None and not _is_index(index):
        _refuse(f"input {number} ({name}) has the index {index!r:.60}", where)
    automaton = entry.get("automaton")
    if automaton is None:
        owner = None
    elif (
        isinstance(automaton, dict)
        and isinstance(automaton.get("name"), str)
        and _is_index(automaton.get("index", 0))
    ):
        owner = (automaton["name"], int(automaton.get("index", 0)))
    else:
        _refuse(f"input {number} ({name}) has the automaton {automaton!r:.60}", where)
    if index is None:
        return Input(name, automaton=owner)
    # Only the key tells a location from a cell of a global array.
    kind = "cell" if "automaton" in entry else "location"
    return Input(name, kind, index, owner)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_sizes(interface: Interface, network: Network, where: str) -> None:
    """Refuse a network that does not have the inputs and outputs of its interface."""
    for what, here, there in (
        ("inputs", len(interface.inputs), network.inputs),
        ("outputs", len(interface.labels), network.outputs),
    ):
        if here != there:
            raise InputFormatError(
                f"the interface has {here} {what}, and the network {interface.file.name} {there}",
                where=where,
                expected="as many",
            )


def write_interface(
    path: Path,
    *,
    network: Path,
    inputs: Sequence[str],
    labels: Sequence[str],
    hidden: Sequence[int] = (),
) -> None:
    """An interface of global variables; the network is named relative to it where possible."""
    try:
        file = network.resolve().relative_to(path.resolve().parent)
    except ValueError:
        file = network.resolve()
    document = {
        "file": file.as_posix(),
        "filter": True,
        "input": [{"name": name, "automaton": None} for name in inputs],
        "elements": list(hidden),
        "output": list(labels),
    }
    write_generated(
        {path: json.dumps(document, ensure_ascii=False, indent=1) + "\n"}, "interface", force=True
    )


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


__all__ = ["Input", "Interface", "check_sizes", "read_interface", "write_interface"]
