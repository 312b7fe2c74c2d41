"""Interface files (.jani2nnet): which variables a policy sees, and which label each of its outputs stands for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.errors import UsageError
from misstep.tasks.jani.document import Cursor, Documents

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask


@dataclass(frozen=True)
class InterfaceInput:
    """A variable, a cell of an array, or the location of an automaton (`location`)."""

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
    """Inputs and outputs of a policy. It may be blind to part of the state; that is legal."""

    inputs: tuple[InterfaceInput, ...]
    outputs: tuple[str, ...]  # labels, by output neuron
    hidden: tuple[int, ...]  # sizes of the hidden layers
    filter: bool  # choose among applicable labels only
    policy_file: Path | None
    torch_file: Path | None

    def columns(self, task: JaniTask) -> list[int]:
        """The position of each input in a state."""
        positions = {name: i for i, name in enumerate(task.variable_names)}
        columns = []
        for item in self.inputs:
            # A local variable goes by its bare name where that is unique.
            bare = item.name if item.index is None else f"{item.name}[{item.index}]"
            found = positions.get(str(item), None if item.location else positions.get(bare))
            if found is None:
                raise UsageError(
                    f"the interface reads {item}, which the model does not have",
                    where=task.name,
                    hint="variables: " + ", ".join(task.variable_names[:20]),
                )
            columns.append(found)
        return columns

    def labels(self, task: JaniTask) -> list[int]:
        """The label of each output."""
        return [task.label_id(name) for name in self.outputs]


def load_interface(path: str | os.PathLike[str]) -> JaniInterface:
    node = Documents().open(Path(path)).object("an interface file")
    folder = Path(path).parent
    outputs = tuple(item.text("a label") for item in node["output"].items("a list of labels"))
    if not outputs or len(set(outputs)) != len(outputs):
        node["output"].fail("no labels, or one of them twice", "distinct labels")
    hidden = []
    for item in node.list_of("elements"):
        size = item.integer("the size of a hidden layer")
        if size < 1:
            item.fail(f"a layer of {size}", "a positive size")
        hidden.append(size)
    return JaniInterface(
        inputs=tuple(_input(item) for item in node["input"].items("a list of inputs")),
        outputs=outputs,
        hidden=tuple(hidden),
        filter=node["filter"].boolean() if "filter" in node else True,
        policy_file=_file(node, "file", folder),
        torch_file=_file(node, "torch-file", folder),
    )


def _file(node: Cursor, key: str, folder: Path) -> Path | None:
    entry = node.get(key)
    if entry is None or entry.value is None:
        return None
    return folder / entry.text("the path of a file")


def _input(node: Cursor) -> InterfaceInput:
    name = node["name"].text("the name of a variable")
    index = node["index"].integer() if "index" in node and node.value["index"] is not None else None
    if (
        "automaton" not in node
    ):  # a name with an index and nothing else is the location of an automaton
        return InterfaceInput(name, index=index, location=index is not None)
    owner = node["automaton"]
    automaton = None if owner.value is None else owner["name"].text("the name of an automaton")
    return InterfaceInput(name, automaton, index)


__all__ = ["InterfaceInput", "JaniInterface", "load_interface"]
