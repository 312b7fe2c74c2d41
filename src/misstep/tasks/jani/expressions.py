"""Expressions of JANI, checked and handed to the native builder.

The builder folds constants and checks types. This module resolves names (constants, variables, `let`, and calls of
functions, which are inlined) and arrays. An array variable is a block of slots, so that an access is a slot or an
indexed slot; any other array is the tuple of its elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from misstep._core import JaniBuilder
from misstep.errors import InputFormatError
from misstep.tasks.jani.document import Cursor
from misstep.tasks.jani.types import HIGHEST, LOWEST, Type

Python: TypeAlias = "bool | int | float | tuple[Python, ...]"

TRIGONOMETRIC = ("sin", "cos")
UNARY = ("¬", "floor", "ceil", "abs", "sgn", "trc", *TRIGONOMETRIC)
CONSTANTS = {"e": math.e, "π": math.pi}
MAX_CELLS = 1_000_000
MAX_CALLS = (
    100_000  # inlined calls in total, since functions that call each other can grow exponentially
)
MAX_ELEMENTS = 2 * MAX_CELLS  # of all array constructors, since one inside another multiplies
NEGATION = "negation"  # what "-" is if it has one operand


@dataclass(frozen=True)
class Cells:
    """An array variable, or a part of it after some indices: the slots from `first + offset` on."""

    first: int
    size: int  # of the whole variable
    shape: tuple[int, ...]
    offset: int | None = None  # an expression; None is zero


# An expression of the builder, the cells of an array variable, or the elements of another array.
Value: TypeAlias = "int | Cells | tuple[Value, ...]"


@dataclass(frozen=True)
class Function:
    """A function of the model or of an automaton; its body sees the names of its own scope and its parameters."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    body: Cursor
    scope: Scope


class Scope:
    """The meanings of names, innermost first."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: dict[str, Value] = {}
        self.functions: dict[str, Function] = {}

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def find(self, name: str) -> Value | None:
        return next((own.names[name] for own in self._chain() if name in own.names), None)

    def function(self, name: str) -> Function | None:
        return next((own.functions[name] for own in self._chain() if name in own.functions), None)


class Compiler:
    def __init__(self, features: frozenset[str] = frozenset()) -> None:
        self.builder = JaniBuilder()
        self.features = features
        self.constants: dict[str, Python] = {}  # of the model, with their values
        self._open_calls: list[str] = []
        self._calls = 0
        self._elements = 0

    # -- with a type ------------------------------------------------------------------------------

    def of_type(self, node: Cursor, scope: Scope, base: str) -> int:
        """A scalar of a type; integers are converted if a real is expected."""
        return self.converted(node, self.scalar(node, scope), base)

    def converted(self, node: Cursor, value: int, base: str) -> int:
        return self._native(node, lambda: self.builder.convert(value, base))

    def condition(self, node: Cursor, scope: Scope) -> int:
        """A Boolean expression over state variables."""
        value = self.of_type(node, scope, "bool")
        self.no_transients(node, value)
        return value

    def no_transients(self, node: Cursor, value: int) -> None:
        if self.builder.has_transients(value):
            node.fail(
                "a transient variable is read here", "transient variables in assignments only"
            )

    def constant(self, node: Cursor, scope: Scope, kind: Type) -> Python:
        """The value of a constant expression, checked against its type."""
        return self.constant_of(node, self.expression(node, scope), kind)

    def constant_of(self, node: Cursor, value: Value, kind: Type) -> Python:
        if kind.dimensions > 0:
            if not isinstance(value, tuple):
                node.fail("this is not a constant array", "an array of constants")
            inner = Type(kind.base, kind.low, kind.high, kind.dimensions - 1)
            return tuple(self.constant_of(node, element, inner) for element in value)
        if not isinstance(value, int):
            node.fail("this is an array", f"a constant of type {kind.base}")
        result = self.builder.constant(self.converted(node, value, kind.base))
        if result is None:
            node.fail("this is not a constant, or has no value", "a constant expression")
        if (kind.low is not None and result < kind.low) or (
            kind.high is not None and result > kind.high
        ):
            node.fail(f"{result} is out of bounds", f"a value from {kind.low} to {kind.high}")
        return result

    def literal(self, value: Python) -> Value:
        """A value that was computed before, as an expression."""
        if isinstance(value, tuple):
            return tuple(self.literal(element) for element in value)
        if isinstance(value, bool):
            return self.builder.boolean(value)
        if isinstance(value, int):
            return self.builder.integer(value)
        return self.builder.real(value)

    # -- all expressions --------------------------------------------------------------------------

    def scalar(self, node: Cursor, scope: Scope) -> int:
        value = self.expression(node, scope)
        if not isinstance(value, int):
            node.fail("this is an array", "a single value")
        return value

    def expression(self, root: Cursor, scope: Scope) -> Value:
        """Operands before operators, with an explicit stack: chains may be deeper than Python's own stack allows."""
        open_nodes: list[tuple[Cursor, str | None]] = [(root, None)]
        done: list[Value] = []
        while open_nodes:
            node, symbol = open_nodes.pop()
            if symbol is not None:  # all its operands are done
                keys = operands(symbol)
                arguments = done[-len(keys) :]
                del done[-len(keys) :]
                done.append(self._apply(node, symbol, keys, arguments))
                continue
            symbol = self._operator(node)
            if symbol is None:
                done.append(self._simple(node, scope))
            else:
                open_nodes.append((node, symbol))
                open_nodes += [(node[key], None) for key in reversed(operands(symbol))]
        return done[0]

    def _operator(self, node: Cursor) -> str | None:
        """The operator of an operation on scalars; None for everything else."""
        if "op" not in node:
            return None
        symbol = node["op"].text("an operator")
        if symbol in SPECIAL:
            return None
        if symbol == "-" and "exp" in node and "left" not in node:
            return NEGATION
        if self.builder.arity(symbol) == 0:
            if symbol == "nondet":
                node["op"].unsupported(
                    "a non-deterministic choice inside another expression is not supported",
                    hint="it has to be the whole value of an assignment",
                )
            if symbol in NOT_SUPPORTED:
                node["op"].unsupported(f"the operator {symbol!r} is not supported")
            node["op"].fail(f"no such operator: {symbol!r}", "an operator of JANI expressions")
        if symbol in TRIGONOMETRIC and "trigonometric-functions" not in self.features:
            node["op"].fail(
                f"{symbol!r} without the feature trigonometric-functions",
                'the feature "trigonometric-functions" in the list of features',
            )
        return symbol

    def _apply(
        self, node: Cursor, symbol: str, keys: tuple[str, ...], arguments: list[Value]
    ) -> int:
        scalars = []
        for key, argument in zip(keys, arguments, strict=True):
            if not isinstance(argument, int):
                node[key].fail("this is an array", "a single value")
            scalars.append(argument)
        if symbol == NEGATION:
            symbol, scalars = "-", [self.builder.integer(0), *scalars]
        return self._native(node, lambda: self.builder.apply(symbol, scalars))

    def _simple(self, node: Cursor, scope: Scope) -> Value:
        value = node.value
        if isinstance(value, str):
            found = scope.find(value)
            if found is None:
                node.fail(f"nothing is called {value!r} here", "a constant or variable")
            return found
        if isinstance(value, bool):
            return self.builder.boolean(value)
        if isinstance(value, int):
            if not LOWEST <= value <= HIGHEST:
                node.fail(f"{value} does not fit in 64 bits", "a smaller integer")
            return self.builder.integer(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                node.fail("the number is too large", "a finite number")
            return self.builder.real(value)
        node.object("an expression")
        if "op" in node:
            return SPECIAL[node.value["op"]](self, node, scope)
        for wrapper in ("exp", "expression"):
            if wrapper in node:
                return self.expression(node[wrapper], scope)
        if "constant" in node:
            name = node["constant"].text("e or π")
            if name not in CONSTANTS:
                node["constant"].fail(f"no such constant: {name!r}", "e or π")
            return self.builder.real(CONSTANTS[name])
        raise node.error("this object is not an expression", "an object with 'op'")

    def _native(self, node: Cursor, work: Callable[[], int]) -> int:
        """Adds the place to an error of the builder."""
        try:
            return work()
        except InputFormatError as error:
            node.fail(error.what, error.expected, error.hint)

    def _let(self, node: Cursor, scope: Scope) -> Value:
        inner = Scope(scope)
        for definition in node["variables"].items("a list of definitions"):
            name = definition["name"].text("a name")
            inner.names[name] = self.expression(definition["value"], inner)
        return self.expression(node["expression"], inner)

    def _call(self, node: Cursor, scope: Scope) -> Value:
        name = node["function"].text("the name of a function")
        function = scope.function(name)
        if function is None:
            node["function"].fail(f"no function is called {name!r} here", "a function of the model")
        if name in self._open_calls:
            node.unsupported(f"the function {name!r} calls itself, which is not supported")
        self._calls += 1
        if self._calls > MAX_CALLS:
            node.unsupported(f"more than {MAX_CALLS} calls of functions, one inside another")
        given = list(node["args"].items("a list of arguments"))
        if len(given) != len(function.parameters):
            node["args"].fail(
                f"{len(given)} arguments of the function {name!r}", f"{len(function.parameters)}"
            )
        inner = Scope(function.scope)
        for argument, (parameter, kind) in zip(given, function.parameters, strict=True):
            inner.names[parameter] = self._as_type(argument, self.expression(argument, scope), kind)
        self._open_calls.append(name)
        try:
            return self._as_type(node, self.expression(function.body, inner), function.result)
        finally:
            self._open_calls.pop()

    def _as_type(self, node: Cursor, value: Value, kind: Type) -> Value:
        if len(self.shape(value)) != kind.dimensions:
            node.fail(f"{len(self.shape(value))} dimensions", f"{kind.dimensions} dimensions")
        return self.converted(node, value, kind.base) if isinstance(value, int) else value

    # -- arrays -----------------------------------------------------------------------------------

    def _array_value(self, node: Cursor, scope: Scope) -> Value:
        elements = tuple(self.expression(item, scope) for item in node["elements"].items())
        return self._same_shape(node, elements)

    def _array_constructor(self, node: Cursor, scope: Scope) -> Value:
        length = cast(int, self.constant(node["length"], scope, Type("int")))
        if not 0 < length <= MAX_CELLS:
            node["length"].fail(f"an array of length {length}", f"a length from 1 to {MAX_CELLS}")
        name = node["var"].text("a name")
        self._elements += length
        if self._elements > MAX_ELEMENTS:
            node.unsupported(f"array constructors that make more than {MAX_ELEMENTS} elements")
        elements = []
        for i in range(length):
            inner = Scope(scope)
            inner.names[name] = self.builder.integer(i)
            elements.append(self.expression(node["exp"], inner))
        return self._same_shape(node, tuple(elements))

    def _same_shape(self, node: Cursor, elements: tuple[Value, ...]) -> Value:
        if not elements:
            node.unsupported("arrays without elements are not supported")
        if len({self.shape(element) for element in elements}) > 1:
            node.fail("the elements have different shapes", "arrays of one length, or no arrays")
        return elements

    def shape(self, value: Value) -> tuple[int, ...]:
        if isinstance(value, Cells):
            return value.shape
        return (len(value), *self.shape(value[0])) if isinstance(value, tuple) else ()

    def _array_access(self, node: Cursor, scope: Scope) -> Value:
        array = self.expression(node["exp"], scope)
        index = self.scalar(node["index"], scope)
        if isinstance(array, Cells):
            cells = self.cell(node, array, index)
            return self.read(cells) if cells.shape == () else cells
        if not isinstance(array, tuple):
            node["exp"].fail("this is not an array", "an array")
        if self.shape(array[0]) != ():
            position = self.builder.constant(index)
            if isinstance(position, int) and 0 <= position < len(array):
                return array[position]
            node.unsupported(
                "a nested array that is not a variable, with an index that is not a constant"
            )
        checked = self._native(node["index"], lambda: self.builder.within(index, len(array)))
        elements = cast("tuple[int, ...]", array)
        result = elements[-1]
        for i in range(len(array) - 2, -1, -1):
            here = self.builder.apply("=", [checked, self.builder.integer(i)])
            result = self._choose(node, here, elements[i], result)
        return result

    def _choose(self, node: Cursor, condition: int, then: int, other: int) -> int:
        return self._native(node, lambda: self.builder.apply("ite", [condition, then, other]))

    def cell(self, node: Cursor, cells: Cells, index: int) -> Cells:
        """One index further into an array variable."""
        length, *rest = cells.shape
        checked = self._native(node["index"], lambda: self.builder.within(index, length))
        stride = self.builder.integer(math.prod(rest))
        offset = self.builder.apply("*", [checked, stride])
        if cells.offset is not None:
            offset = self.builder.apply("+", [cells.offset, offset])
        return Cells(cells.first, cells.size, tuple(rest), offset)

    def read(self, cells: Cells) -> int:
        offset = cells.offset if cells.offset is not None else self.builder.integer(0)
        return self.builder.element(cells.first, cells.size, offset)

    def elements(self, cells: Cells) -> list[Cells]:
        """The parts of an array variable one level down."""
        length, *rest = cells.shape
        stride = math.prod(rest)
        base = cells.offset if cells.offset is not None else self.builder.integer(0)
        return [
            Cells(
                cells.first,
                cells.size,
                tuple(rest),
                self.builder.apply("+", [base, self.builder.integer(i * stride)]),
            )
            for i in range(length)
        ]


def operands(symbol: str) -> tuple[str, ...]:
    if symbol in UNARY or symbol == NEGATION:
        return ("exp",)
    return ("if", "then", "else") if symbol == "ite" else ("left", "right")


SPECIAL: dict[str, Callable[[Compiler, Cursor, Scope], Value]] = {
    "let": Compiler._let,
    "call": Compiler._call,
    "aa": Compiler._array_access,
    "av": Compiler._array_value,
    "ac": Compiler._array_constructor,
}
# Operators of JANI and its extensions that we do not support; their message differs from that of a typing error.
NOT_SUPPORTED = {
    *("exists", "forall", "Pmin", "Pmax", "Emin", "Emax", "filter", "der", "nv", "empty"),
    *("some", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh"),
}

__all__ = ["Cells", "Compiler", "Function", "Python", "Scope", "Value"]
