"""Parses conditions as users type them, such as `speed >= 3 and not (gap > 1 or done)`, to JANI expressions.

From weak to strong: `or`, `and`, `not`, one comparison, `+ -`, `* / %`, unary minus. Functions are `min`, `max`, `abs`,
`floor`, `ceil`, `pow` and `ite(condition, then, otherwise)`; `a[i]` is a cell of an array. JANI's own signs are
understood as well. A name is a word with dots, or anything between double quotes.
"""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from misstep.decoding import excerpt, whole_number
from misstep.errors import UsageError

Json = Any  # what a JSON file can hold
MAX_LENGTH = 10_000
MAX_NESTED = 100
MAX_DEPTH = 400  # of operations; those of a chain such as a + b + c are inside each other too
_TOKEN = re.compile(
    r'\s*(?:(\d+\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?)|([^\W\d][\w.]*)|"([^"]*)"'
    r"|(<=|>=|==|!=|<>|&&|\|\||[-+*/%()<>=!,\[\]≤≥≠∧∨¬]))"  # noqa: RUF001
)
_COMPARISONS = {
    "=": "=",
    "==": "=",
    "!=": "≠",
    "<>": "≠",
    "≠": "≠",
    "<=": "≤",
    "≤": "≤",
    ">=": "≥",
    "≥": "≥",
}
_COMPARISONS |= {"<": "<", ">": ">"}
_OR = ("or", "||", "∨")  # noqa: RUF001
_AND = ("and", "&&", "∧")
_NOT = ("not", "!", "¬")
_FUNCTIONS = {"min": 2, "max": 2, "pow": 2, "abs": 1, "floor": 1, "ceil": 1, "ite": 3}
_WORDS = {"or", "and", "not", "true", "false"}


def parse_condition(text: str, option: str) -> Json:
    """The expression of a text; `option` is the option that the user gave it to."""
    return _Parser(text, option).whole()


class _Parser:
    def __init__(self, text: str, option: str) -> None:
        self.option = option
        self.text = text
        self.tokens: list[tuple[str, Json]] = []  # kind (number, name, sign) and content
        self.place = 0
        self.nested = 0
        if len(text) > MAX_LENGTH:
            self.fail(f"it has {len(text)} characters")
        end = 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None:
                self.fail(f"{text[end:].strip()[:20]!r} is not understood")
            number, word, quoted, sign = found.groups()
            if number is not None:
                self.tokens.append(("number", self.number(number)))
            elif quoted is not None:
                self.tokens.append(("name", quoted))
            else:
                is_sign = word is None or word.lower() in _WORDS
                self.tokens.append(("sign", (word or sign).lower()) if is_sign else ("name", word))
            end = found.end()

    def number(self, text: str) -> int | float:
        found = whole_number(text, 2**63) if text.isdecimal() else float(text)
        if found is None or math.isinf(found):
            self.fail(f"the number {excerpt(text, 20)} is not below 2^63")
        return found

    def fail(self, what: str) -> NoReturn:
        raise UsageError(
            f"{self.option} {self.text!r:.80}: {what}",
            expected="a condition such as 'speed >= 3 and not done'",
        )

    def sign(self, *signs: str) -> str | None:
        """The next token if it is one of these signs."""
        if self.place < len(self.tokens):
            kind, content = self.tokens[self.place]
            if kind == "sign" and content in signs:
                self.place += 1
                return str(content)
        return None

    def need(self, sign: str) -> None:
        if self.sign(sign) is None:
            self.fail(f"{sign!r} is missing")

    def whole(self) -> Json:
        found = self.disjunction()
        if self.place < len(self.tokens):
            self.fail(f"{str(self.tokens[self.place][1])!r:.40} comes unexpectedly")
        if _depth(found) > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} operations inside each other")
        return found

    def disjunction(self) -> Json:
        self.nested += 1
        if self.nested > MAX_NESTED:
            self.fail("too many brackets within each other")
        left = self.conjunction()
        while self.sign(*_OR):
            left = {"op": "∨", "left": left, "right": self.conjunction()}  # noqa: RUF001
        self.nested -= 1
        return left

    def conjunction(self) -> Json:
        left = self.negation()
        while self.sign(*_AND):
            left = {"op": "∧", "left": left, "right": self.negation()}
        return left

    def negation(self) -> Json:
        signs = 0
        while self.sign(*_NOT):
            signs += 1
        found = self.comparison()
        return {"op": "¬", "exp": found} if signs % 2 else found

    def comparison(self) -> Json:
        left = self.sum()
        sign = self.sign(*_COMPARISONS)
        if sign is None:
            return left
        found = {"op": _COMPARISONS[sign], "left": left, "right": self.sum()}
        if self.sign(*_COMPARISONS):
            self.fail("two comparisons in a row; join them by 'and'")
        return found

    def sum(self) -> Json:
        left = self.product()
        while sign := self.sign("+", "-"):
            left = {"op": sign, "left": left, "right": self.product()}
        return left

    def product(self) -> Json:
        left = self.factor()
        while sign := self.sign("*", "/", "%"):
            left = {"op": sign, "left": left, "right": self.factor()}
        return left

    def factor(self) -> Json:
        signs = 0
        while self.sign("-"):
            signs += 1
        found = self.atom()
        while self.sign("["):
            found = {"op": "aa", "exp": found, "index": self.disjunction()}
            self.need("]")
        return {"op": "-", "left": 0, "right": found} if signs % 2 else found

    def atom(self) -> Json:
        if self.sign("("):
            found = self.disjunction()
            self.need(")")
            return found
        if word := self.sign("true", "false"):
            return word == "true"
        if self.place == len(self.tokens):
            self.fail("it ends too early")
        kind, content = self.tokens[self.place]
        if kind == "sign":
            self.fail(f"{content!r} comes unexpectedly")
        self.place += 1
        return self.call(content) if kind == "name" and self.sign("(") else content

    def call(self, name: str) -> Json:
        if name not in _FUNCTIONS:
            self.fail(f"there is no function {name!r:.40}; known are {', '.join(_FUNCTIONS)}")
        arguments = [self.disjunction()]
        while self.sign(","):
            arguments.append(self.disjunction())
        self.need(")")
        if len(arguments) != _FUNCTIONS[name]:
            self.fail(f"{name} takes {_FUNCTIONS[name]} arguments, not {len(arguments)}")
        keys = {1: ("exp",), 2: ("left", "right"), 3: ("if", "then", "else")}[len(arguments)]
        return {"op": name, **dict(zip(keys, arguments, strict=True))}


def _depth(expression: Json) -> int:
    depth, layer = 0, [expression]
    while layer:
        depth += 1
        layer = [part for own in layer if isinstance(own, dict) for part in own.values()]
    return depth


__all__ = ["Json", "parse_condition"]
