"""The files of a model: JSON texts that may include each other, and the property that is meant.

Any object `{"file": "other.jani"}` stands for the content of that file, which is named relative to the file it
stands in. Only files that were kept with the model are read, never the disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import NoReturn

from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.checking.jani.nodes import Node, items, member, optional
from misstep.checking.texts import TooDeepError, parse

MAX_MEMBERS = 2**25  # of all lists and objects, counted wherever a file is included
MAX_INCLUDES = 10_000
MAX_DEPTH = 900  # chains of operators are nested in JANI
REMARKS = {"comment", "metadata"}  # keys that do not affect the model
GIVEN = "(given)"  # stands for a property in the user's words, which is in no file


class _NotKept(dict[str, Node]):
    """Stands for a file that was not kept. It was not needed, as in a remark; who looks into it reads another model."""

    def _fail(self, *_: object) -> NoReturn:
        raise ModelError(
            f"the included file {self.copy()['file']!r:.200} was not kept with the model"
        )

    __getitem__ = get = __contains__ = _fail


class Documents:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._includes = 0
        self._members = 0

    def __contains__(self, path: str) -> bool:
        return str(PurePath(path)) in self._files

    def read(self, path: str) -> Node:
        """A file with everything that it includes."""
        if path not in self:
            raise ModelError(f"the file {path} was not kept with the model")
        return self._read(PurePath(path), ())

    def _read(self, path: PurePath, trail: tuple[PurePath, ...]) -> Node:
        self._includes += 1
        if path in trail or self._includes > MAX_INCLUDES:
            raise ModelError(
                f"{path} includes itself, or there are more than {MAX_INCLUDES} includes"
            )

        content = self._files[str(path)]
        self._members += content.count(b",") + content.count(b"[") + content.count(b"{")
        if self._members > MAX_MEMBERS:
            raise ModelError(f"more than {MAX_MEMBERS} values", where=str(path))

        def members(pairs: list[tuple[str, Node]]) -> Node:
            """An object, or the file that it stands for; resolved while reading, since texts can be nested deeply."""
            found = dict(pairs)
            if len(found) != len(pairs):
                raise ModelError("an object has a key twice", where=str(path))
            if found.keys() - REMARKS == {"file"} and isinstance(found["file"], str):
                target = path.parent / found["file"]
                if str(target) in self._files:
                    return self._read(target, (*trail, path))
                return _NotKept(found)
            return found

        return _parsed(content, str(path), members)


def _parsed(content: bytes, name: str, members: Callable[[list[tuple[str, Node]]], Node]) -> Node:
    try:
        return parse(content, members, MAX_DEPTH)
    except ModelError:
        raise
    except (RecursionError, TooDeepError):
        raise UnsupportedModelError("nested too deeply for the checker", where=name) from None
    except ValueError as error:
        raise ModelError(f"not JSON: {error!s:.200}", where=name) from None


def digest_of(source: Mapping[str, Node]) -> str:
    """Identifies a model: the content of its files, and how it is read."""
    files = [hashlib.sha256(content).hexdigest() for content in source["files"].values()]
    rest = ("world", "name", "files", "path")
    options = {key: value for key, value in source.items() if key not in rest}
    text = json.dumps([files, options], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def find_property(document: Node, choice: str | None, documents: Documents) -> Node:
    """The expression of a property: by name, from a file (`FILE` or `FILE#NAME`), or the first one of the model."""
    if choice is not None and (
        choice == GIVEN or choice not in [_name(p) for p in _properties(document)]
    ):
        file, _, name = choice.partition("#")
        if file not in documents:
            raise ModelError(f"there is no property and no file {choice!r}")
        document, choice = documents.read(file), name or None
    for candidate in _properties(document):
        expression = member(candidate, "expression")
        if choice in (None, _name(candidate)) and optional(expression, "op") == "PA":
            return expression
        if choice is not None and choice == _name(candidate):
            avoided = _avoided(expression)
            if avoided is not None:
                return {"op": "PA", "reach": avoided}
    raise ModelError("there is no property of the kind PA")


def _avoided(expression: Node) -> Node:
    """The condition that a reachability property says is reached, or holds for ever; None for other properties."""
    if optional(expression, "op") == "filter":
        states = optional(expression, "states")
        if states is not None and optional(states, "op") != "initial":
            raise UnsupportedModelError("a filter over other states than the initial ones")
        expression = optional(expression, "values")
    if optional(expression, "op") in ("<", "≤", ">", "≥", "="):
        expression = optional(expression, "left")
    if optional(expression, "op") in ("Pmin", "Pmax", "∀", "∃"):
        expression = optional(expression, "exp")
    for key in ("step-bounds", "time-bounds", "reward-bounds"):
        if optional(expression, key) is not None:
            raise UnsupportedModelError(f"{key} of a property")
    op = optional(expression, "op")
    if op == "F":
        return member(expression, "exp")
    if op == "G":
        inner = member(expression, "exp")
        if optional(inner, "op") == "state-condition":
            if optional(inner, "locations") is not None:
                raise UnsupportedModelError("G of a condition on locations")
            inner = member(inner, "exp")
        return {"op": "¬", "exp": inner}
    if op == "U" and optional(expression, "left") is True:
        return member(expression, "right")
    return None


def _properties(document: Node) -> list[Node]:
    if isinstance(document, list):
        return document
    if optional(document, "properties") is not None:
        return list(items(document, "properties"))
    return [document] if optional(document, "expression") is not None else []


def _name(node: Node) -> str:
    return str(optional(node, "name") or "")


__all__ = ["GIVEN", "Documents", "digest_of", "find_property"]
