"""Expressions: from JSON to terms.

A term is a type and a function from the values of all variables, in the order of a state, to the value of the
expression. An array is the tuple of its elements' terms, so that `a[i]` computes `i` and then one element, and no
other.

Chains of one operator (`a ∧ b ∧ c ...`, `a + b + c ...`, `if ... else if ...`) are followed in a loop, since
generated models have chains that are longer than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from misstep.checking.jani import operators
from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.checking.jani.nodes import Node, items, member, shown, text
from misstep.checking.jani.operators import KINDS, Scalar, Value

Registers = Sequence[Scalar]
Function = Callable[[Registers], Scalar]
MAX_CELLS = 1_000_000
# Of a whole model, since a small file can ask for exponentially many. The engine allows a quarter of this: here some
# expressions are compiled more than once.
MAX_ELEMENTS = 8 * MAX_CELLS
MAX_CALLS = 400_000


@dataclass(frozen=True, slots=True)
class Term:
    kind: str  # bool, int or real
    value: Function


Operand = Term | tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A function of the model: names and types (base type, dimensions) of its parameters, and its result type."""

    parameters: tuple[tuple[str, str, int], ...]
    result: tuple[str, int]
    body: Node


@dataclass(slots=True)
class Spent:
    """How much has been compiled: calls of functions, and elements of array constructors."""

    calls: int = 0
    elements: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """The meanings of names, and whether the model has the feature `trigonometric-functions`.

    `outside` has the names that bodies of functions can use: neither their caller's definitions nor its parameters.
    """

    names: Mapping[str, Operand]
    trigonometric: bool = False
    functions: Mapping[str, Definition] = field(default_factory=dict)
    outside: Mapping[str, Operand] | None = None
    calling: tuple[str, ...] = ()
    strict: bool = False  # nothing may underflow to 0
    spent: Spent = field(default_factory=Spent)  # shared by all scopes of a model

    def extended(self, names: Mapping[str, Operand]) -> Scope:
        """With declarations of the model."""
        return replace(self, names={**self.names, **names})

    def inside(self, names: Mapping[str, Operand]) -> Scope:
        """With names that an expression itself defines."""
        outside = self.names if self.outside is None else self.outside
        return replace(self, names={**self.names, **names}, outside=outside)

    def body_of(self, name: str, arguments: Mapping[str, Operand]) -> Scope:
        outside = self.names if self.outside is None else self.outside
        calling = (*self.calling, name)
        return replace(self, names={**outside, **arguments}, outside=outside, calling=calling)


def evaluate(expression: Node, names: Mapping[str, Value], trigonometric: bool = False) -> Value:
    """The value of an expression over constants."""
    scope = Scope({name: literal(value) for name, value in names.items()}, trigonometric)
    return fixed_value(compile_expression(expression, scope))


def fixed_value(operand: Operand) -> Value:
    if isinstance(operand, tuple):
        return tuple(fixed_value(element) for element in operand)
    try:
        return operand.value(())
    except IndexError:  # it reads a variable
        raise ModelError("an expression is not constant") from None


def literal(value: Value) -> Operand:
    """The term of a value."""
    if isinstance(value, tuple):
        return tuple(literal(element) for element in value)
    if isinstance(value, bool):
        return Term("bool", lambda _: value)
    if isinstance(value, int):
        operators.whole(value)
        return Term("int", lambda _: value)
    operators.finite(value)
    return Term("real", lambda _: value)


def compile_expression(expression: Node, scope: Scope) -> Operand:
    if isinstance(expression, (bool, int, float)):
        return literal(expression)
    if isinstance(expression, str):
        if expression not in scope.names:
            raise ModelError(f"nothing is called {expression!r} here")
        return scope.names[expression]
    if not isinstance(expression, Mapping):
        raise ModelError(f"{shown(expression)} is not an expression")
    if "op" in expression:
        return _operation(text(expression, "op"), expression, scope)
    for wrapper in ("exp", "expression"):
        if wrapper in expression:
            return compile_expression(expression[wrapper], scope)
    name = text(expression, "constant")
    if name not in operators.CONSTANTS:
        raise ModelError(f"there is no constant {name!r}", expected="e or π")
    return literal(operators.CONSTANTS[name])


def scalar(expression: Node, scope: Scope) -> Term:
    found = compile_expression(expression, scope)
    if isinstance(found, tuple):
        raise ModelError(f"{shown(expression)} is an array", expected="a single value")
    return found


def condition(expression: Node, scope: Scope) -> Function:
    return converted(scalar(expression, scope), "bool").value


def converted(term: Term, kind: str) -> Term:
    """The term as one of this type: an integer may stand for a real number, and nothing else for another."""
    if term.kind == kind:
        return term
    if (term.kind, kind) != ("int", "real"):
        raise ModelError(f"an expression is of type {term.kind}", expected=f"type {kind}")
    value = term.value
    return Term("real", lambda r: float(value(r)))


def shape_of(operand: object) -> tuple[int, ...]:
    """The lengths of an array, outermost first."""
    shape: tuple[int, ...] = ()
    while isinstance(operand, tuple):
        shape = (*shape, len(operand))
        operand = operand[0]
    return shape


# Operations, one function each; those with operands of their own kind are at the end.


def _operation(op: str, expression: Node, scope: Scope) -> Operand:
    if _is_minus(expression):
        return _minus(scalar(expression["exp"], scope))
    if op in operators.ARITHMETIC:
        return _arithmetic(expression, scope)
    if op in operators.COMPARISONS:
        left, right = (scalar(member(expression, key), scope) for key in ("left", "right"))
        compare = operators.comparison(op, left.kind, right.kind)
        a, b = left.value, right.value
        return Term("bool", lambda r: compare(a(r), b(r)))
    if op in operators.UNARY:
        return _unary(op, scalar(member(expression, "exp"), scope), scope)
    if op not in SPECIAL:
        raise UnsupportedModelError(f"the operator {op!r} is not supported")
    return SPECIAL[op](expression, scope)


def _is_minus(expression: Node) -> bool:
    """Whether this is a "-" with one operand."""
    one = isinstance(expression, Mapping) and "exp" in expression and "left" not in expression
    return one and _op(expression) == "-"


def _minus(operand: Term) -> Term:
    kind, function = operators.binary("-", "int", operand.kind)
    value = operand.value
    return Term(kind, lambda r: _computed("-", function, 0, value(r)))


def _arithmetic(expression: Node, scope: Scope) -> Term:
    open_steps = []
    while (
        isinstance(expression, Mapping)
        and _op(expression) in operators.ARITHMETIC
        and not _is_minus(expression)
    ):
        open_steps.append((expression["op"], scalar(member(expression, "right"), scope)))
        expression = member(expression, "left")
    first = scalar(expression, scope)
    kind, start = first.kind, first.value
    steps = []
    for op, right in reversed(open_steps):
        kind, function = operators.binary(op, kind, right.kind, scope.strict)
        steps.append((op, function, right.value))

    def value(r: Registers) -> Scalar:
        result = start(r)
        for op, function, operand in steps:
            result = _computed(op, function, result, operand(r))
        return result

    if len(steps) > 1:
        return Term(kind, value)
    ((op, function, operand),) = steps

    def single(r: Registers) -> Scalar:
        return _computed(op, function, start(r), operand(r))

    return Term(kind, single)


def _unary(op: str, operand: Term, scope: Scope) -> Term:
    if op in operators.TRIGONOMETRIC and not scope.trigonometric:
        raise ModelError(f"{op!r} without the feature trigonometric-functions")
    kind, function = operators.unary(op, operand.kind)
    value = operand.value
    return Term(kind, lambda r: _computed(op, function, value(r)))


def _computed(op: str, function: Callable[..., Scalar], *arguments: Scalar) -> Scalar:
    try:
        return function(*arguments)
    except ModelError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise ModelError(f"{op} has no result: {error}") from None


def _chain(op: str, expression: Node) -> list[Node]:
    """The operands of a chain of one operator, from left to right."""
    found, open_parts = [], [expression]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, Mapping) and _op(part) == op:
            open_parts += [member(part, "right"), member(part, "left")]
        else:
            found.append(part)
    return found


def _op(expression: Mapping[str, Node]) -> str | None:
    op = expression.get("op")
    return op if isinstance(op, str) else None


# Operands that are not needed are not evaluated: a guard may protect those to its right.


def _conjunction(expression: Node, scope: Scope) -> Term:
    tests = [condition(part, scope) for part in _chain("∧", expression)]

    def value(r: Registers) -> bool:
        for test in tests:  # noqa: SIM110 (a generator would take twice as long)
            if not test(r):
                return False
        return True

    return Term("bool", value)


def _disjunction(expression: Node, scope: Scope) -> Term:
    tests = [condition(part, scope) for part in _chain("∨", expression)]  # noqa: RUF001

    def value(r: Registers) -> bool:
        for test in tests:  # noqa: SIM110
            if test(r):
                return True
        return False

    return Term("bool", value)


def _implication(expression: Node, scope: Scope) -> Term:
    left, right = (condition(member(expression, key), scope) for key in ("left", "right"))
    return Term("bool", lambda r: not left(r) or right(r))


def _negation(expression: Node, scope: Scope) -> Term:
    value = condition(member(expression, "exp"), scope)
    return Term("bool", lambda r: not value(r))


def _ite(expression: Node, scope: Scope) -> Term:
    tests, terms = [], []
    while isinstance(expression, Mapping) and _op(expression) == "ite":
        tests.append(condition(member(expression, "if"), scope))
        terms.append(scalar(member(expression, "then"), scope))
        expression = member(expression, "else")
    kind, values = _of_one_kind([*terms, scalar(expression, scope)])
    branches, otherwise = list(zip(tests, values, strict=False)), values[-1]

    def value(r: Registers) -> Scalar:
        for test, branch in branches:
            if test(r):
                return branch(r)
        return otherwise(r)

    return Term(kind, value)


def _of_one_kind(terms: Sequence[Term]) -> tuple[str, list[Function]]:
    kind = max((term.kind for term in terms), key=KINDS.index)
    return kind, [converted(term, kind).value for term in terms]


def _let(expression: Node, scope: Scope) -> Operand:
    for definition in items(expression, "variables"):
        operand = compile_expression(member(definition, "value"), scope)
        scope = scope.inside({text(definition, "name"): _remembered(operand)})
    return compile_expression(member(expression, "expression"), scope)


def _call(expression: Node, scope: Scope) -> Operand:
    name = text(expression, "function")
    if name not in scope.functions:
        raise ModelError(f"there is no function {name!r}")
    if name in scope.calling:
        raise UnsupportedModelError(f"the function {name!r} calls itself")
    scope.spent.calls += 1
    if scope.spent.calls > MAX_CALLS:
        raise UnsupportedModelError(f"more than {MAX_CALLS} calls of functions")
    function, given = scope.functions[name], items(expression, "args")
    if len(given) != len(function.parameters):
        raise ModelError(f"the function {name!r} is given {len(given)} arguments")
    arguments = {
        parameter: _remembered(_of_type(compile_expression(argument, scope), kind, dimensions))
        for argument, (parameter, kind, dimensions) in zip(given, function.parameters, strict=True)
    }
    found = compile_expression(function.body, scope.body_of(name, arguments))
    return _of_type(found, *function.result)


def _of_type(operand: Operand, kind: str, dimensions: int) -> Operand:
    if len(shape_of(operand)) != dimensions:
        raise ModelError("an argument or a result of a function has another shape")
    return operand if isinstance(operand, tuple) else converted(operand, kind)


def _remembered(operand: Operand) -> Operand:
    """A definition that is computed once in a state, however often it is used, and not at all if it never is."""
    if isinstance(operand, tuple):
        return tuple(_remembered(element) for element in operand)
    compute = operand.value
    last: tuple[Registers | None, Scalar] = (None, 0)

    def value(r: Registers) -> Scalar:
        nonlocal last
        # Registers are tuples, and this one is kept, so it cannot change and its identity is not reused.
        if last[0] is not r:
            last = (r, compute(r))
        return last[1]

    return Term(operand.kind, value)


def _array_access(expression: Node, scope: Scope) -> Operand:
    array = compile_expression(member(expression, "exp"), scope)
    index = converted(scalar(member(expression, "index"), scope), "int").value
    if not isinstance(array, tuple):
        raise ModelError(f"{shown(expression['exp'])} is not an array")
    return _picked(array, index)


def _picked(elements: tuple[Operand, ...], index: Function) -> Operand:
    if isinstance(elements[0], tuple):
        columns = zip(*(e for e in elements if isinstance(e, tuple)), strict=True)
        return tuple(_picked(column, index) for column in columns)
    kind, values = _of_one_kind([e for e in elements if isinstance(e, Term)])
    return Term(kind, lambda r: values[position(index(r), len(values))](r))


def position(index: Scalar, length: int) -> int:
    if not 0 <= index < length:
        raise ModelError(f"index {index} of an array of {length}")
    return int(index)


def _array_value(expression: Node, scope: Scope) -> Operand:
    return _array([compile_expression(e, scope) for e in items(expression, "elements")])


def _array_constructor(expression: Node, scope: Scope) -> Operand:
    length = fixed_value(converted(scalar(member(expression, "length"), scope), "int"))
    assert isinstance(length, int)
    if not 0 < length <= MAX_CELLS:
        raise ModelError(f"an array of length {length}", expected=f"1 to {MAX_CELLS}")
    scope.spent.elements += length
    if scope.spent.elements > MAX_ELEMENTS:
        raise UnsupportedModelError(
            f"array constructors that make more than {MAX_ELEMENTS} elements"
        )
    name, body = text(expression, "var"), member(expression, "exp")
    return _array(
        [compile_expression(body, scope.inside({name: literal(i)})) for i in range(length)]
    )


def _array(elements: Sequence[Operand]) -> Operand:
    if not elements:
        raise UnsupportedModelError("an array without elements is not supported")
    if len({shape_of(element) for element in elements}) > 1:
        raise ModelError("the elements of an array have different shapes")
    return tuple(elements)


SPECIAL: dict[str, Callable[[Node, Scope], Operand]] = {
    "∧": _conjunction,
    "∨": _disjunction,  # noqa: RUF001
    "⇒": _implication,
    "¬": _negation,
    "ite": _ite,
    "let": _let,
    "call": _call,
    "aa": _array_access,
    "av": _array_value,
    "ac": _array_constructor,
}

__all__ = [
    "MAX_CELLS",
    "Definition",
    "Function",
    "Operand",
    "Registers",
    "Scope",
    "Term",
    "compile_expression",
    "condition",
    "converted",
    "evaluate",
    "fixed_value",
    "literal",
    "position",
    "scalar",
    "shape_of",
]
