"""The features of a sketch: elements of description logic such as `n_count(c_primitive(carry,0))`.

An element is a constructor over arguments: concepts are sets of objects, roles sets of pairs of objects. This module
knows how elements are written; what they mean in a task is for `compile.py` and the native core.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from misstep.errors import InputFormatError, UnsupportedError

MAX_DEPTH = 50
MAX_ELEMENTS = 5_000  # in one feature


class Sort(Enum):
    """The sort of an argument of an element; the value is its name in messages."""

    CONCEPT = "a concept (c_...)"
    ROLE = "a role (r_...)"
    SET = "a concept or a role (c_... or r_...)"
    BOOLEAN = "a Boolean feature (b_...)"
    NUMERICAL = "a numerical feature (n_...)"
    PREDICATE = "the name of a predicate"
    POSITION = "a position: 0, 1, ..."
    CONSTANT = "the name of an object"


NAMES = (Sort.PREDICATE, Sort.POSITION, Sort.CONSTANT)
_C, _R = Sort.CONCEPT, Sort.ROLE

CONSTRUCTORS: dict[str, tuple[Sort, tuple[Sort, ...]]] = {
    "c_primitive": (_C, (Sort.PREDICATE, Sort.POSITION)),
    "c_top": (_C, ()),
    "c_bot": (_C, ()),
    "c_one_of": (_C, (Sort.CONSTANT,)),
    "c_and": (_C, (_C, _C)),
    "c_not": (_C, (_C,)),
    "c_some": (_C, (_R, _C)),
    "c_all": (_C, (_R, _C)),
    "c_equal": (_C, (_R, _R)),
    "r_primitive": (_R, (Sort.PREDICATE, Sort.POSITION, Sort.POSITION)),
    "r_and": (_R, (_R, _R)),
    "r_inverse": (_R, (_R,)),
    "r_transitive_closure": (_R, (_R,)),
    "r_restrict": (_R, (_R, _C)),
    "n_count": (Sort.NUMERICAL, (Sort.SET,)),
    "n_concept_distance": (Sort.NUMERICAL, (_C, _R, _C)),
    "b_nullary": (Sort.BOOLEAN, (Sort.PREDICATE,)),
}


@dataclass(frozen=True)
class Element:
    """A constructor with its arguments: elements, or the texts of predicates, objects and positions."""

    constructor: str
    arguments: tuple[Element | str, ...]

    @property
    def sort(self) -> Sort:
        return CONSTRUCTORS[self.constructor][0]

    def __str__(self) -> str:
        if not self.arguments:
            return self.constructor
        return f"{self.constructor}({','.join(map(str, self.arguments))})"


def parse_feature(text: str, sort: Sort, where: str) -> Element:
    """Reads a Boolean or numerical feature; `where` names file, line and feature in messages."""
    parser = _Parser(text, where)
    element = parser.element(sort, 1)
    parser.end()
    return element


_TOKEN = re.compile(r"\s*([(),]|[^\s(),]+)")


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens = _TOKEN.findall(text)
        self.place = 0
        self.elements = 0

    def _next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1] if self.place <= len(self.tokens) else ""

    def _fail(self, token: str, expected: str) -> InputFormatError:
        found = f"{token[:40]!r} stands in a wrong place" if token else "the feature ends too early"
        return InputFormatError(found, where=self.where, expected=expected)

    def _take(self, mark: str, after: str) -> None:
        if (token := self._next()) != mark:
            raise self._fail(token, f"{mark!r} after {after}")

    def end(self) -> None:
        if self.place < len(self.tokens):
            raise self._fail(self._next(), "nothing after the feature")

    def element(self, wanted: Sort, depth: int) -> Element:
        name = self._next()
        if name in ("", "(", ")", ","):
            raise self._fail(name, wanted.value)
        if name not in CONSTRUCTORS:
            raise self._unknown(name)
        sort, parameters = CONSTRUCTORS[name]
        if sort is not wanted and not (wanted is Sort.SET and sort in (Sort.CONCEPT, Sort.ROLE)):
            raise InputFormatError(
                f"{name} stands in a wrong place", where=self.where, expected=wanted.value
            )
        self.elements += 1
        if depth > MAX_DEPTH or self.elements > MAX_ELEMENTS:
            raise UnsupportedError(
                "the feature is too large",
                where=self.where,
                expected=f"at most {MAX_ELEMENTS} elements, {MAX_DEPTH} inside each other",
            )
        arguments: list[Element | str] = []
        if parameters:
            self._take("(", name)
        for i, parameter in enumerate(parameters):
            if i:
                self._take(",", f"argument {i} of {name}, which has {len(parameters)}")
            argument = (
                self._name(parameter) if parameter in NAMES else self.element(parameter, depth + 1)
            )
            arguments.append(argument)
        if parameters:
            self._take(")", f"argument {len(parameters)} of {name}, the last one")
        return Element(name, tuple(arguments))

    def _name(self, sort: Sort) -> str:
        token = self._next()
        if token in ("", "(", ")", ","):
            raise self._fail(token, sort.value)
        if sort is Sort.POSITION and not re.fullmatch(r"[0-9]{1,4}", token):
            raise self._fail(token, sort.value)
        # PDDL does not tell small letters from capitals.
        return token.lower()

    def _unknown(self, name: str) -> UnsupportedError:
        close = get_close_matches(name, CONSTRUCTORS, 1)
        return UnsupportedError(
            f"there is no element {name[:60]!r}",
            where=self.where,
            expected="one of " + ", ".join(CONSTRUCTORS),
            hint=f"did you mean {close[0]}?" if close else None,
        )


__all__ = ["CONSTRUCTORS", "Element", "Sort", "parse_feature"]
