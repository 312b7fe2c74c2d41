"""Parts of a JSON document, with an error where one is missing or of another kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from misstep.checking.jani.errors import ModelError, UnsupportedModelError

Node = Any  # a value out of a JSON file


def member(node: Node, key: str) -> Node:
    if not isinstance(node, Mapping) or key not in node:
        raise ModelError(f"{key!r} is missing in {shown(node)}")
    return node[key]


def optional(node: Node, key: str) -> Node:
    """The member, or None: in JANI null means the same as leaving it out."""
    return node.get(key) if isinstance(node, Mapping) else None


def text(node: Node, key: str) -> str:
    found = member(node, key)
    if not isinstance(found, str):
        raise ModelError(f"{key!r} is {shown(found)}", expected="text")
    return found


def items(node: Node, key: str) -> Sequence[Node]:
    """A list that may be left out."""
    found = optional(node, key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise ModelError(f"{key!r} is {shown(found)}", expected="a list")
    return found


def names(node: Node, key: str) -> list[str]:
    """The names of the members of a list, which have to differ."""
    found = [text(item, "name") for item in items(node, key)]
    seen: set[str] = set()
    for name in found:
        if name in seen:
            raise ModelError(f"{name!r} is declared twice among the {key}")
        seen.add(name)
    return found


def refuse(node: Node, *keys: str) -> None:
    """Refuse a part of the format that is not supported, unless it is empty."""
    for key in keys:
        if optional(node, key) not in (None, [], False):
            raise UnsupportedModelError(f"{key!r} is not supported")


def shown(node: Node) -> str:
    found = repr(node)
    return found if len(found) <= 60 else found[:57] + "..."


__all__ = ["Node", "items", "member", "names", "optional", "refuse", "shown", "text"]
