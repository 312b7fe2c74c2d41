"""Interface files (.jani2nnet): which variables a policy sees, and which label each of its outputs stands for.

JSON: `file` is the network, relative to the interface; `input` lists variables, cells of arrays, locations and
constants of the model; `output` lists labels. Not every variable need be an input: a policy may see only a part of the
state. The interface may add what the file of the network does not say: `activation`, `layer-norm`, `part` and `check`,
a file of golden rows (docs/networks.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.errors import InputFormatError
from misstep.files import write_bytes
from misstep.tasks.jani.document import Cursor, Documents

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask


@dataclass(frozen=True)
class InterfaceInput:
    """A variable or constant, a cell of an array, or the location of an automaton (`location`)."""

    name: str
    automaton: str | None = None
    index: int | None = None
    location: bool = False

    def __str__(self) -> str:
        name = self.name if self.automaton is None else f"{self.automaton}.{self.name}"
        if self.location:
            return f"{self.name}.location"
        return name if self.index is None else f"{name}[{self.index}]"


@dataclass(frozen=True)
class JaniInterface:
    """Inputs and outputs of a policy, which may see only a part of the state."""

    inputs: tuple[InterfaceInput, ...]
    outputs: tuple[str, ...]  # labels, by output neuron
    hidden: tuple[int, ...]  # sizes of the hidden layers
    filter: bool  # choose among applicable labels only
    policy_file: Path | None
    torch_file: Path | None
    activation: str | None = None
    layer_norm: str | None = None
    part: str | None = None
    check: Path | None = None

    def columns(self, task: JaniTask, where: str | None = None) -> list[int]:
        """The position of each input in a state; -1 for one that is a constant."""
        positions = {name: i for i, name in enumerate(task.variable_names)}
        columns = []
        for item in self.inputs:
            # A local variable may be given by its bare name if that is unique.
            bare = item.name if item.index is None else f"{item.name}[{item.index}]"
            found = positions.get(str(item), None if item.location else positions.get(bare))
            if found is None and bare not in task.constants:
                constants = f"; constants: {', '.join(list(task.constants)[:20])}"
                raise InputFormatError(
                    f"the interface reads {item}, which the model does not have",
                    where=where or task.name,
                    expected="variables or constants of the model",
                    hint="variables: "
                    + ", ".join(task.variable_names[:20])
                    + (constants if task.constants else ""),
                )
            columns.append(-1 if found is None else found)
        return columns

    def constants(self, task: JaniTask) -> dict[int, float]:
        """The values of those inputs that are constants of the model, by the position of the input."""
        known = zip(self.inputs, self.columns(task), strict=True)
        return {
            i: float(
                task.constants[item.name if item.index is None else f"{item.name}[{item.index}]"]
            )
            for i, (item, column) in enumerate(known)
            if column < 0
        }

    def labels(self, task: JaniTask) -> list[int]:
        """The label of each output."""
        return [task.label_id(name) for name in self.outputs]

    def check_sizes(self, inputs: int, outputs: int, where: str, hint: str | None = None) -> None:
        """Refuse a network that does not have the inputs and outputs of its interface."""
        for what, here, there in (
            ("inputs", list(map(str, self.inputs)), inputs),
            ("outputs", list(self.outputs), outputs),
        ):
            if len(here) != there:
                shown = ", ".join(here[:12]) + (", ..." if len(here) > 12 else "")
                raise InputFormatError(
                    f"the network has {there} {what} and its interface {len(here)}",
                    where=where,
                    expected=f"a network with {len(here)} {what}: {shown}",
                    hint=hint,
                )


def load_interface(path: str | os.PathLike[str]) -> JaniInterface:
    node = Documents().open(Path(path)).object("an interface file")
    folder = Path(path).parent
    outputs = tuple(item.text("a label") for item in node["output"].items("a list of labels"))
    if not outputs or len(set(outputs)) != len(outputs):
        node["output"].fail("no labels, or one of them twice", "distinct labels")
    inputs = tuple(_input(item) for item in node["input"].items("a list of inputs"))
    if not inputs:
        node["input"].fail("no inputs", "what the policy reads")
    hidden = []
    for item in node.list_of("elements"):
        size = item.integer("the size of a hidden layer")
        if size < 1:
            item.fail(f"a layer of {size}", "a positive size")
        hidden.append(size)
    return JaniInterface(
        inputs=inputs,
        outputs=outputs,
        hidden=tuple(hidden),
        filter=node["filter"].boolean() if "filter" in node else True,
        policy_file=_file(node, "file", folder),
        torch_file=_file(node, "torch-file", folder),
        activation=_text(node, "activation"),
        layer_norm=_text(node, "layer-norm"),
        part=_text(node, "part"),
        check=_file(node, "check", folder),
    )


def _text(node: Cursor, key: str) -> str | None:
    entry = node.get(key)
    return None if entry is None or entry.value is None else entry.text("a text")


def _file(node: Cursor, key: str, folder: Path) -> Path | None:
    entry = node.get(key)
    if entry is None or entry.value is None:
        return None
    return folder / entry.text("the path of a file")


def _input(node: Cursor) -> InterfaceInput:
    node.object("an input with a name")
    name = node["name"].text("the name of a variable")
    index = _index(node["index"]) if node.value.get("index") is not None else None
    if "automaton" not in node:
        # Only the missing key distinguishes the location of an automaton from a cell of a global array.
        return InterfaceInput(name, index=index, location=index is not None)
    owner = node["automaton"]
    if owner.value is None:
        return InterfaceInput(name, index=index)
    automaton = owner.object("null, or an automaton")["name"].text("the name of an automaton")
    return InterfaceInput(name, automaton, index)


def _index(node: Cursor) -> int:
    index = node.integer("the index of a cell or an automaton")
    if index < 0:
        node.fail(f"the index is {index}", "0 or more")
    return index


def write_interface(
    path: Path,
    *,
    network: Path,
    inputs: Sequence[str],
    labels: Sequence[str],
    hidden: Sequence[int] = (),
) -> None:
    """An interface of global variables; the network is named relative to it where possible."""
    text = encode_interface(path, network=network, inputs=inputs, labels=labels, hidden=hidden)
    write_bytes(path, text.encode(), follow=False)


def encode_interface(
    path: Path,
    *,
    network: Path,
    inputs: Sequence[str],
    labels: Sequence[str],
    hidden: Sequence[int],
) -> str:
    """The text of the file at that place."""
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
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


__all__ = [
    "InterfaceInput",
    "JaniInterface",
    "encode_interface",
    "load_interface",
    "write_interface",
]
