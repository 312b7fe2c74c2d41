"""Expressions over columns: the values of an expression in many states at once.

Parts that are not needed cause no doubt: the right side of a conjunction whose left side is false, and the branch that
is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from misstep.checking.arrays.columns import (
    Columns,
    Found,
    Function,
    NotForArraysError,
    Operand,
    Term,
    converted,
    either,
    literal,
    within,
)
from misstep.checking.arrays.numbers import COMPARISONS, compared, computed, unary, zero
from misstep.checking.jani import operators
from misstep.checking.jani.expressions import Definition
from misstep.checking.jani.nodes import Node, items, member, shown, text
from misstep.checking.jani.operators import KINDS

MAX_CELLS = 10_000


@dataclass(frozen=True, slots=True)
class Scope:
    names: Mapping[str, Operand]
    functions: Mapping[str, Definition]
    outside: Mapping[str, Operand] | None = None  # what bodies of functions can name
    calling: tuple[str, ...] = ()
    # Compiled comparisons by their text, because the guards of a model repeat the same few comparisons.
    known: dict[str, Term] = field(default_factory=dict)

    def inside(self, names: Mapping[str, Operand]) -> Scope:
        outside = self.names if self.outside is None else self.outside
        return replace(self, names={**self.names, **names}, outside=outside)

    def body_of(self, name: str, arguments: Mapping[str, Operand]) -> Scope:
        outside = self.names if self.outside is None else self.outside
        calling = (*self.calling, name)
        return replace(self, names={**outside, **arguments}, outside=outside, calling=calling)


def compiled(expression: Node, scope: Scope) -> Operand:
    if isinstance(expression, (bool, int, float)):
        return literal(expression)
    if isinstance(expression, str):
        if expression not in scope.names:
            raise NotForArraysError(f"nothing is called {expression!r} here")
        return scope.names[expression]
    if not isinstance(expression, Mapping):
        raise NotForArraysError(f"{shown(expression)} is not an expression")
    if "op" in expression:
        op = text(expression, "op")
        if op not in OPERATIONS:
            raise NotForArraysError(f"the operator {op!r} is not known here")
        return OPERATIONS[op](expression, scope)
    for wrapper in ("exp", "expression"):
        if wrapper in expression:
            return compiled(expression[wrapper], scope)
    name = text(expression, "constant")
    if name not in operators.CONSTANTS:
        raise NotForArraysError(f"there is no constant {name!r}")
    return literal(operators.CONSTANTS[name])


def scalar(expression: Node, scope: Scope) -> Term:
    found = compiled(expression, scope)
    if isinstance(found, tuple):
        raise NotForArraysError(f"{shown(expression)} is an array")
    return found


def condition(expression: Node, scope: Scope) -> Function:
    return converted(scalar(expression, scope), "bool").value


def _arithmetic(expression: Node, scope: Scope) -> Term:
    if "exp" in expression and "left" not in expression:
        if expression["op"] != "-":
            raise NotForArraysError(f"{shown(expression)} has one operand")
        return computed("-", zero(), scalar(expression["exp"], scope))
    steps: list[tuple[str, Term]] = []
    node = expression
    while isinstance(node, Mapping) and node.get("op") in operators.ARITHMETIC and "left" in node:
        steps.append((text(node, "op"), scalar(member(node, "right"), scope)))
        node = member(node, "left")
    result = scalar(node, scope)
    for op, right in reversed(steps):
        result = computed(op, result, right)
    return result


def _unary(expression: Node, scope: Scope) -> Term:
    return unary(text(expression, "op"), scalar(member(expression, "exp"), scope))


def _comparison(expression: Node, scope: Scope) -> Term:
    if scope.outside is not None:  # names may mean something else here
        return _compared(expression, scope)
    key = repr(expression)
    if key not in scope.known:
        found = _remembered(_compared(expression, scope))
        assert isinstance(found, Term)
        scope.known[key] = found
    return scope.known[key]


def _compared(expression: Node, scope: Scope) -> Term:
    a, b = (scalar(member(expression, key), scope) for key in ("left", "right"))
    return compared(text(expression, "op"), a, b)


# Truth values. Each operand is evaluated everywhere, and counts where those before it have not decided.


def _chain(op: str, expression: Node) -> list[Node]:
    found, open_parts = [], [expression]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, Mapping) and part.get("op") == op:
            open_parts += [member(part, "right"), member(part, "left")]
        else:
            found.append(part)
    return found


def _conjunction(expression: Node, scope: Scope) -> Term:
    tests = [condition(part, scope) for part in _chain("∧", expression)]

    def value(columns: Columns) -> Found:
        holds, doubt = tests[0](columns)
        for test in tests[1:]:
            found = test(columns)
            doubt = either(doubt, within(holds, found.doubt))
            holds = holds & found.value
        return Found(holds, doubt)

    return Term("bool", value)


def _disjunction(expression: Node, scope: Scope) -> Term:
    tests = [condition(part, scope) for part in _chain("∨", expression)]  # noqa: RUF001

    def value(columns: Columns) -> Found:
        holds, doubt = tests[0](columns)
        for test in tests[1:]:
            found = test(columns)
            doubt = either(doubt, within(~holds, found.doubt))
            holds = holds | found.value
        return Found(holds, doubt)

    return Term("bool", value)


def _implication(expression: Node, scope: Scope) -> Term:
    left, right = (condition(member(expression, key), scope) for key in ("left", "right"))

    def value(columns: Columns) -> Found:
        one, two = left(columns), right(columns)
        return Found(~one.value | two.value, either(one.doubt, within(one.value, two.doubt)))

    return Term("bool", value)


def _negation(expression: Node, scope: Scope) -> Term:
    inner = condition(member(expression, "exp"), scope)

    def value(columns: Columns) -> Found:
        found = inner(columns)
        return Found(~found.value, found.doubt)

    return Term("bool", value)


def _ite(expression: Node, scope: Scope) -> Term:
    tests, terms = [], []
    while isinstance(expression, Mapping) and expression.get("op") == "ite":
        tests.append(condition(member(expression, "if"), scope))
        terms.append(scalar(member(expression, "then"), scope))
        expression = member(expression, "else")
    one_kind = _of_one_kind([*terms, scalar(expression, scope)])
    result = one_kind[-1]
    for test, term in zip(reversed(tests), reversed(one_kind[:-1]), strict=True):
        result = _chosen(test, term, result)
    return result


def _chosen(test: Function, yes: Term, no: Term) -> Term:
    def value(columns: Columns) -> Found:
        here, one, two = test(columns), yes.value(columns), no.value(columns)
        doubt = either(here.doubt, within(here.value, one.doubt))
        doubt = either(doubt, within(~here.value, two.doubt))
        return Found(np.where(here.value, one.value, two.value), doubt)

    return Term(yes.kind, value, min(yes.low, no.low), max(yes.high, no.high))


def _of_one_kind(terms: Sequence[Term]) -> list[Term]:
    kind = max((term.kind for term in terms), key=KINDS.index)
    return [converted(term, kind) for term in terms]


# Names and arrays


def _let(expression: Node, scope: Scope) -> Operand:
    for definition in items(expression, "variables"):
        operand = compiled(member(definition, "value"), scope)
        scope = scope.inside({text(definition, "name"): _remembered(operand)})
    return compiled(member(expression, "expression"), scope)


def _call(expression: Node, scope: Scope) -> Operand:
    name = text(expression, "function")
    if name not in scope.functions or name in scope.calling:
        raise NotForArraysError(f"the function {name!r} is not known here, or calls itself")
    function, given = scope.functions[name], items(expression, "args")
    if len(given) != len(function.parameters):
        raise NotForArraysError(f"the function {name!r} is given {len(given)} arguments")
    arguments = {
        parameter: _remembered(_of_type(compiled(argument, scope), kind))
        for argument, (parameter, kind, _) in zip(given, function.parameters, strict=True)
    }
    return _of_type(compiled(function.body, scope.body_of(name, arguments)), function.result[0])


def _of_type(operand: Operand, kind: str) -> Operand:
    return operand if isinstance(operand, tuple) else converted(operand, kind)


def _remembered(operand: Operand) -> Operand:
    """A definition that is computed once, however often it is used."""
    if isinstance(operand, tuple):
        return tuple(_remembered(element) for element in operand)
    compute = operand.value
    last: tuple[Columns | None, Found | None] = (None, None)

    def value(columns: Columns) -> Found:
        nonlocal last
        if last[0] is not columns or last[1] is None:
            last = (columns, compute(columns))
        assert last[1] is not None
        return last[1]

    return replace(operand, value=value)


def _access(expression: Node, scope: Scope) -> Operand:
    array = compiled(member(expression, "exp"), scope)
    index = converted(scalar(member(expression, "index"), scope), "int")
    if not isinstance(array, tuple):
        raise NotForArraysError(f"{shown(expression['exp'])} is not an array")
    return _picked(array, index)


def _picked(elements: tuple[Operand, ...], index: Term) -> Operand:
    if index.low == index.high and 0 <= index.low < len(elements):
        return elements[index.low]
    if isinstance(elements[0], tuple):
        columns = zip(*(e for e in elements if isinstance(e, tuple)), strict=True)
        return tuple(_picked(column, index) for column in columns)
    terms = _of_one_kind([e for e in elements if isinstance(e, Term)])

    def value(columns: Columns) -> Found:
        at = index.value(columns)
        result, doubt = terms[0].value(columns)
        doubt = within(at.value == 0, doubt)
        for number, term in enumerate(terms[1:], 1):
            here, found = at.value == number, term.value(columns)
            result = np.where(here, found.value, result)
            doubt = either(doubt, within(here, found.doubt))
        outside = (at.value < 0) | (at.value >= len(terms))
        return Found(result, either(either(doubt, at.doubt), outside))

    bounds = min(t.low for t in terms), max(t.high for t in terms)
    return Term(terms[0].kind, value, *bounds)


def _array_value(expression: Node, scope: Scope) -> Operand:
    return _array([compiled(element, scope) for element in items(expression, "elements")])


def _array_constructor(expression: Node, scope: Scope) -> Operand:
    length = scalar(member(expression, "length"), scope)
    if length.low != length.high or not 0 < length.low <= MAX_CELLS:
        raise NotForArraysError("the length of an array is not known, or large")
    name, body = text(expression, "var"), member(expression, "exp")
    return _array([compiled(body, scope.inside({name: literal(i)})) for i in range(length.low)])


def _array(elements: Sequence[Operand]) -> Operand:
    if not elements:
        raise NotForArraysError("an array without elements")
    return tuple(elements)


OPERATIONS: dict[str, Callable[[Node, Scope], Operand]] = {
    **dict.fromkeys(operators.ARITHMETIC, _arithmetic),
    **dict.fromkeys(operators.UNARY, _unary),
    **dict.fromkeys(COMPARISONS, _comparison),
    "∧": _conjunction,
    "∨": _disjunction,  # noqa: RUF001
    "⇒": _implication,
    "¬": _negation,
    "ite": _ite,
    "let": _let,
    "call": _call,
    "aa": _access,
    "av": _array_value,
    "ac": _array_constructor,
}

__all__ = ["Scope", "compiled", "condition", "scalar"]
