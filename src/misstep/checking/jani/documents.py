"""The files of a model: JSON texts that may include each other, and the property that is meant.

Any object `{"file": "other.jani"}` stands for the content of that file, which is named relative to the file it
stands in. Only files that were kept with the model are read, never the disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import NoReturn

from misstep.checking.jani.errors import ModelError
from misstep.checking.jani.nodes import Node, items, member, optional

MAX_INCLUDES = 10_000
REMARKS = {"comment", "metadata"}  # keys that say nothing about the model


class Documents:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._includes = 0

    def __contains__(self, path: str) -> bool:
        return str(PurePath(path)) in self._files

    def read(self, path: str) -> Node:
        """A file with everything that it includes."""
        return self._read(PurePath(path), ())

    def _read(self, path: PurePath, trail: tuple[PurePath, ...]) -> Node:
        if path in trail:
            raise ModelError(f"the file {path} includes itself")
        if str(path) not in self._files:
            raise ModelError(f"the file {path} was not kept with the model")
        self._includes += 1
        if self._includes > MAX_INCLUDES:
            raise ModelError(f"more than {MAX_INCLUDES} files are included")
        return self._resolved(parse(self._files[str(path)], str(path)), (*trail, path))

    def _resolved(self, node: Node, trail: tuple[PurePath, ...]) -> Node:
        if isinstance(node, list):
            return [self._resolved(item, trail) for item in node]
        if not isinstance(node, dict):
            return node
        if node.keys() - REMARKS == {"file"} and isinstance(node["file"], str):
            return self._read(trail[-1].parent / node["file"], trail)
        return {k: v if k in REMARKS else self._resolved(v, trail) for k, v in node.items()}


def parse(content: bytes, name: str) -> Node:
    def refused(text: str) -> NoReturn:
        raise ModelError(f"{text} is no number of JSON", where=name)

    def members(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
        if len(dict(pairs)) != len(pairs):
            raise ModelError("an object has a key twice", where=name)
        return dict(pairs)

    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, parse_constant=refused, object_pairs_hook=members)
    except ModelError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelError(f"not JSON: {error}", where=name) from None


def find_property(document: Node, choice: str | None, documents: Documents) -> Node:
    """The expression of a property: by name, from a file (`FILE` or `FILE#NAME`), or the first one of the model."""
    if choice is not None and choice not in [_name(p) for p in _properties(document)]:
        file, _, name = choice.partition("#")
        if file not in documents:
            raise ModelError(f"there is no property and no file {choice!r}")
        document, choice = documents.read(file), name or None
    for candidate in _properties(document):
        expression = member(candidate, "expression")
        if choice in (None, _name(candidate)) and optional(expression, "op") == "PA":
            return expression
    raise ModelError("there is no property of the kind PA")


def _properties(document: Node) -> list[Node]:
    if isinstance(document, list):
        return document
    if optional(document, "properties") is not None:
        return list(items(document, "properties"))
    return [document] if optional(document, "expression") is not None else []


def _name(node: Node) -> str:
    return str(optional(node, "name") or "")


__all__ = ["Documents", "find_property", "parse"]
