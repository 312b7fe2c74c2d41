"""Parses the names that the translator gives to ground operators and facts."""

from __future__ import annotations

from typing import NamedTuple

from misstep.errors import InputFormatError

NONE_OF_THOSE = "<none of those>"


class GroundName(NamedTuple):
    """A schema or predicate and the objects it is instantiated with."""

    name: str
    arguments: tuple[str, ...]


class FactName(NamedTuple):
    """A ground literal: predicate, objects, and whether it holds or not."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool


def parse_operator_name(name: str) -> GroundName:
    """`move a b`, with or without parentheses around it, is `("move", ("a", "b"))`."""
    text = name.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    words = text.lower().split()
    if not words or any(character in text for character in "();"):
        raise InputFormatError(
            f"{name!r} is not the name of an operator", expected="(SCHEMA OBJECT...)"
        )
    return GroundName(words[0], tuple(words[1:]))


def parse_fact_name(name: str) -> FactName | None:
    """`Atom on(a, b)` is `("on", ("a", "b"), True)`; None for the value that names no atom."""
    text = name.strip()
    if text == NONE_OF_THOSE:
        return None
    kind, _, atom = text.partition(" ")
    predicate, opening, rest = atom.strip().partition("(")
    if kind not in ("Atom", "NegatedAtom") or not opening or not rest.endswith(")"):
        raise InputFormatError(
            f"{name!r} is not the name of a fact",
            expected=f"'Atom P(A, B)', 'NegatedAtom P(A, B)' or '{NONE_OF_THOSE}'",
        )
    inside = rest[:-1]
    arguments = tuple(part.strip() for part in inside.split(",")) if inside.strip() else ()
    return FactName(predicate.strip(), arguments, kind == "Atom")


__all__ = ["NONE_OF_THOSE", "FactName", "GroundName", "parse_fact_name", "parse_operator_name"]
