"""The language of `--oracle`: "lmcut, bmo(100)+aras/ehc".

spec   = union {"," union}      one after the other, until one has decided
union  = sum {"|" sum}          all of them; the best bound counts
sum    = route {"+" route}      like the comma, but closer: the combined oracle of P23 is "bmo(100)+aras/ehc"
route  = part ["/" part]        the first where the policy reaches the goal, the second where it does not
part   = name ["(" [argument {"," argument}] ")"]  or  "(" spec ")"  or  the name of a preset: "p23"
argument = [name "="] value     value: a number (1000, 10_000, 0.5), true, false, a word, or none for no limit
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from misstep.errors import UsageError
from misstep.oracles.oracle import Oracle, Route, Sequence, Source, Tester, Union
from misstep.oracles.presets import PRESETS
from misstep.oracles.registry import Parameter, known_oracles, oracle_kind, parameters
from misstep.oracles.workbench import Workbench
from misstep.tasks.task import Task

_TOKEN = re.compile(r"\s*(?:(?P<word>[\w.-]+)|(?P<sign>[,|/()=+])|(?P<end>$)|(?P<other>.))")
_MAX_DEPTH = 50  # of parentheses: nobody means more, and the parser is recursive


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def parse_oracle(spec: str, bench: Workbench) -> Tester:
    """The oracle that a spec describes, working on the bench."""
    return read_oracle(spec).on(bench)


def read_oracle(spec: str) -> Oracle:
    """The oracle that a spec describes; an error if it describes none."""
    parser = _Parser(spec)
    oracle = parser.spec(0)
    if parser.token.kind != "end":
        parser.fail(f"found {parser.token.text!r}", expected="a comma, |, / or the end")
    return oracle


def needs_dominance(spec: str, task: Task | None = None) -> bool:
    """Whether an oracle of the spec works with a dominance function; of a task: whether it would do so there."""
    return any(source.needs_dominance for source in read_oracle(spec).sources(task))


def needs_comparisons(spec: str, task: Task | None = None) -> bool:
    """Whether an oracle of the spec compares all states that it sees with each other; likewise."""
    return any(source.keeps_pool for source in read_oracle(spec).sources(task))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        position = 0
        while not self.tokens or self.tokens[-1].kind != "end":
            match = _TOKEN.match(text, position)
            assert match is not None
            assert match.lastgroup is not None
            kind = match.lastgroup
            self.tokens.append(_Token(kind, match[kind], match.start(kind) + 1))
            position = match.end()
        self.next = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def accept(self, sign: str) -> bool:
        if self.token.kind == "sign" and self.token.text == sign:
            self.next += 1
            return True
        return False

    def fail(
        self,
        what: str,
        expected: str | None = None,
        hint: str | None = None,
        at: _Token | None = None,
    ) -> NoReturn:
        column = (at or self.token).column
        raise UsageError(
            what, where=f"--oracle {self.text!r}, column {column}", expected=expected, hint=hint
        )

    # -- the rules --------------------------------------------------------------------------------

    def spec(self, depth: int) -> Oracle:
        if depth > _MAX_DEPTH:
            self.fail("too many parentheses")
        parts = [self.union(depth)]
        while self.accept(","):
            parts.append(self.union(depth))
        return parts[0] if len(parts) == 1 else Sequence(parts)

    def union(self, depth: int) -> Oracle:
        parts = [self.sum(depth)]
        while self.accept("|"):
            parts.append(self.sum(depth))
        return parts[0] if len(parts) == 1 else Union(parts)

    def sum(self, depth: int) -> Oracle:
        parts = [self.route(depth)]
        while self.accept("+"):
            parts.append(self.route(depth))
        return parts[0] if len(parts) == 1 else Sequence(parts)

    def route(self, depth: int) -> Oracle:
        reached = self.part(depth)
        return Route(reached, self.part(depth)) if self.accept("/") else reached

    def part(self, depth: int) -> Oracle:
        if self.accept("("):
            oracle = self.spec(depth + 1)
            self.close()
            return oracle
        name = self.token
        if name.kind != "word":
            self.fail(
                f"found {name.text!r}" if name.text else "the spec ends here",
                expected="an oracle: " + ", ".join([*known_oracles(), *PRESETS]),
            )
        if name.text in PRESETS:
            return self.preset(name.text)
        kind = oracle_kind(name.text)
        if kind is None:
            names = [*known_oracles(), *PRESETS]
            self.fail(
                f"no oracle {name.text!r}",
                expected=", ".join(names),
                hint=_close(name.text, names),
            )
        self.next += 1
        return self.build(kind, name)

    def preset(self, name: str) -> Oracle:
        self.next += 1
        if self.accept("("):
            self.fail(f"the preset {name} takes no arguments", hint=f"it is {PRESETS[name]}")
        return _Parser(PRESETS[name]).spec(0)

    def build(self, kind: type[Source], name: _Token) -> Oracle:
        known = {parameter.name: parameter for parameter in parameters(kind)}
        places = [parameter for parameter in known.values() if parameter.has_place]
        given: dict[str, Any] = {}
        if self.accept("(") and not self.accept(")"):
            self.argument(name.text, known, places, given)
            while self.accept(","):
                self.argument(name.text, known, places, given)
            self.close()
        try:
            return kind(**given)
        except UsageError as error:
            self.fail(error.what, expected=error.expected, at=name)

    def close(self) -> None:
        if not self.accept(")"):
            found = f"found {self.token.text!r}" if self.token.text else "the spec ends here"
            self.fail(found, expected="a closing parenthesis")

    def argument(
        self,
        oracle: str,
        known: dict[str, Parameter],
        places: list[Parameter],
        given: dict[str, Any],
    ) -> None:
        first = self.token
        if first.kind != "word":
            self.fail(f"found {first.text!r}" if first.text else "the spec ends here", "a value")
        self.next += 1
        if not self.accept("="):
            if any(parameter.name in given for parameter in places) or not places:
                self.fail(
                    f"{oracle} does not take {first.text} without a name",
                    expected=_listed(known),
                    at=first,
                )
            given[places[0].name] = self.value(places[0], first)
            places.pop(0)
            return
        if first.text not in known:
            self.fail(
                f"{oracle} has no parameter {first.text!r}",
                expected=_listed(known),
                hint=_close(first.text, list(known)),
                at=first,
            )
        if first.text in given:
            self.fail(f"{first.text} is given twice", at=first)
        value = self.token
        if value.kind != "word":
            self.fail(f"{first.text} has no value")
        self.next += 1
        given[first.text] = self.value(known[first.text], value)

    def value(self, parameter: Parameter, token: _Token) -> Any:
        kind = _VALUES[parameter.type]
        if parameter.optional and token.text == "none":
            return None
        if not re.fullmatch(kind.pattern, token.text, re.ASCII):
            expected = f"{kind.expected}, or none" if parameter.optional else kind.expected
            self.fail(f"{parameter.name} is {token.text}", expected=expected, at=token)
        return kind.read(token.text)


class _Value(NamedTuple):
    pattern: str
    expected: str
    read: Callable[[str], Any]


# Numbers short enough to fit the counters of the core.
_VALUES = {
    int: _Value(r"\d(_?\d){0,17}", "a whole number, 0 or more, of at most 18 digits", int),
    float: _Value(r"\d(_?\d){0,17}(\.\d+)?", "a number, 0 or more", float),
    bool: _Value("true|false", "true or false", lambda text: text == "true"),
    str: _Value(".+", "a word", str),
}


def _listed(known: dict[str, Parameter]) -> str:
    if not known:
        return "no arguments"
    return ", ".join(f"{p.name}={_shown(p.default)}" for p in known.values())


def _shown(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) or default is None else str(default)


def _close(name: str, known: list[str]) -> str | None:
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else None


__all__ = ["needs_comparisons", "needs_dominance", "parse_oracle", "read_oracle"]
