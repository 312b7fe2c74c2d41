"""The small language in which a definition says what a table shows and what a claim compares.

An observation is a flat record: names and plain values. An expression is one of two things:

    unsafe > 0 and configuration != 'uniform-1'            a condition, or a value, of one observation
    sum(unsafe, configuration == 'greedy-inf') / count()   a number from many observations

The second uses the functions below. Their first argument is an expression of one observation, and the last one is a
condition that selects observations. No other Python is allowed (no attributes, no indices, no other functions), so a
definition from a stranger cannot run code.

Unknown values are None. Arithmetic with None is None; so is a division by 0, and a function of no observations, except
`count`. A comparison with an unknown value is unknown, also of two unknown ones: figures that nobody has measured are
neither equal nor different. `and`, `or` and `not` give an answer where the unknown parts do not matter, else None; a
column that stands alone is a flag, which is not set where it is missing. Nothing holds that is unknown: it is not
selected, and a share counts it as false. Only with a written `None`, == and != ask whether a value is unknown.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from statistics import median

Value = str | int | float | bool | None
Observation = Mapping[str, Value]
_OfOne = Callable[[Observation], Value]
_OfMany = Callable[[Sequence[Observation]], Value]
_Truth = Callable[..., bool | None]
_Inner = Callable[[ast.expr], Callable[..., Value]]  # makes functions of the parts of an operation

FUNCTIONS = ("count", "sum", "mean", "median", "min", "max", "share", "spread", "distinct")
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_ORDER: dict[type[ast.cmpop], Callable[[float | str, float | str], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_LONGEST = 2000
_DEEPEST = 40


class ExpressionError(ValueError):
    """The text is not a valid expression; the message says why."""


class Condition:
    """An expression of one observation."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: set[str] = set()
        self._of_one = _of_one(_parsed(text), self.columns)

    def __call__(self, observation: Observation) -> Value:
        return self._of_one(observation)

    def holds(self, observation: Observation) -> bool:
        return bool(self._of_one(observation))

    def pick(self, observations: Sequence[Observation]) -> list[Observation]:
        return [own for own in observations if self.holds(own)]

    def excludes(self, known: Observation) -> bool:
        """Whether some columns alone show that it does not hold, whatever the others are."""
        tree = _parsed(self.text)
        parts = [tree]
        if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
            parts = tree.values
        for part in parts:
            columns: set[str] = set()
            value = _of_one(part, columns)
            if columns <= known.keys() and not value(known):
                return True
        return False


class Summary:
    """An expression of many observations."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: set[str] = set()
        tree = _parsed(text)
        self._of_many = _of_many(tree, self.columns)
        self._share = _share_parts(tree)

    def __call__(self, observations: Sequence[Observation]) -> Value:
        return self._of_many(observations)

    def share(self, observations: Sequence[Observation]) -> tuple[int, int] | None:
        """The numerator and denominator, if the whole expression is a share."""
        if self._share is None:
            return None
        of, among = self._share
        picked = observations if among is None else [own for own in observations if among(own)]
        return sum(bool(of(own)) for own in picked), len(picked)


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"it is longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"it cannot be read ({type(error).__name__})") from None
    if _depth(tree) > _DEEPEST:
        raise ExpressionError("it is nested too deeply")
    return tree


def _depth(tree: ast.AST) -> int:
    # By layers: a deep tree must not overflow the stack.
    layer, depth = [tree], 0
    while layer and depth <= _DEEPEST:
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _of_one(node: ast.expr, columns: set[str]) -> _OfOne:
    if isinstance(node, ast.Constant):
        value = _constant(node)
        return lambda _: value
    if isinstance(node, ast.Name):
        name = node.id
        columns.add(name)
        return lambda own: own.get(name)
    if isinstance(node, ast.Call):
        raise ExpressionError(
            f"{_name(node)} is a function of many observations and stands inside another one"
        )
    return _operation(node, lambda inner: _of_one(inner, columns))


def _of_many(node: ast.expr, columns: set[str]) -> _OfMany:
    if isinstance(node, ast.Constant):
        value = _constant(node)
        return lambda _: value
    if isinstance(node, ast.Name):
        raise ExpressionError(
            f"{node.id} is a value of one observation; put it into one of {', '.join(FUNCTIONS)}"
        )
    if isinstance(node, ast.Call):
        return _call(node, columns)
    return _operation(node, lambda inner: _of_many(inner, columns))


def _call(node: ast.Call, columns: set[str]) -> _OfMany:
    name = _name(node)
    if name not in FUNCTIONS:
        raise ExpressionError(f"there is no function {name}; expected {', '.join(FUNCTIONS)}")
    if node.keywords:
        raise ExpressionError(f"{name} takes no named arguments")
    given = [_of_one(argument, columns) for argument in node.args]
    least = 0 if name == "count" else 1
    if not least <= len(given) <= least + 1:
        raise ExpressionError(f"{name} takes {least} or {least + 1} arguments")
    of = given[0] if least else None
    among = given[least] if len(given) > least else None

    def value(observations: Sequence[Observation]) -> Value:
        picked = observations if among is None else [own for own in observations if among(own)]
        if of is None:
            return len(picked)
        return _function(name, [of(own) for own in picked])

    return value


def _function(name: str, values: list[Value]) -> Value:
    if name == "distinct":  # an unknown value may be equal to another one or not
        return len(set(values)) if values and None not in values else None
    if name == "share":
        return sum(map(bool, values)) / len(values) if values else None
    numbers = [float(own) for own in values if isinstance(own, (int, float))]
    if not numbers:
        return None
    if name == "sum":
        total = math.fsum(numbers)
        whole = all(isinstance(own, int) for own in values if own is not None)
        return int(total) if whole else total
    if name == "mean":
        return math.fsum(numbers) / len(numbers)
    if name == "spread":
        return deviation(numbers)
    if name == "median":
        return median(numbers)
    return min(numbers) if name == "min" else max(numbers)


def deviation(numbers: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None for fewer than two numbers."""
    if len(numbers) < 2:
        return None
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1))


def _share_parts(node: ast.expr) -> tuple[_OfOne, _OfOne | None] | None:
    if not isinstance(node, ast.Call) or _name(node) != "share":
        return None
    parts = [_of_one(argument, set()) for argument in node.args]
    return parts[0], parts[1] if len(parts) > 1 else None


def _operation(node: ast.expr, inner: _Inner) -> Callable[..., Value]:
    """The common part of both kinds: `inner` turns each part into a function."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(own, inner) for own in node.values]
        return _joined(parts, isinstance(node.op, ast.Or))
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            negated = _truth(node.operand, inner)
            return lambda given: None if (own := negated(given)) is None else not own
        operand = inner(node.operand)
        if isinstance(node.op, ast.USub):
            return lambda given: _arithmetic(operator.sub, 0, operand(given))
    if isinstance(node, ast.BinOp):
        left, right = inner(node.left), inner(node.right)
        if isinstance(node.op, ast.Div):
            return lambda given: _quotient(left(given), right(given))
        if type(node.op) in _ARITHMETIC:
            apply = _ARITHMETIC[type(node.op)]
            return lambda given: _arithmetic(apply, left(given), right(given))
    if isinstance(node, ast.Compare):
        return _comparison(node, inner)
    raise ExpressionError(f"{ast.unparse(node)[:60]!r} is not understood")


def _truth(node: ast.expr, inner: _Inner) -> _Truth:
    """Whether a part holds; None if that is unknown. A missing flag is not set."""
    part = inner(node)
    if isinstance(node, ast.Name):
        return lambda given: bool(part(given))
    return lambda given: None if (own := part(given)) is None else bool(own)


def _joined(parts: Sequence[_Truth], decides: bool) -> _Truth:
    """`or` if a true part decides, `and` if a false one does; unknown parts matter only if none decides."""

    def value(given: object) -> bool | None:
        unknown = False
        for part in parts:
            own = part(given)
            if own is decides:
                return decides
            unknown = unknown or own is None
        return None if unknown else not decides

    return value


def _comparison(node: ast.Compare, inner: _Inner) -> Callable[..., Value]:
    tests: list[_Truth] = []
    left = inner(node.left)
    for sign, operand in zip(node.ops, node.comparators, strict=True):
        if isinstance(sign, (ast.In, ast.NotIn)):
            tests.append(_membership(left, _constants(operand), isinstance(sign, ast.In)))
            continue
        right = inner(operand)
        tests.append(_test(left, sign, right, asks=_is_none(node.left) or _is_none(operand)))
        left = right
    return _joined(tests, False)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _membership(left: Callable[..., Value], known: set[Value], inside: bool) -> _Truth:
    def test(given: object) -> bool | None:
        own = left(given)
        return None if own is None and None not in known else (own in known) == inside

    return test


def _test(
    left: Callable[..., Value], sign: ast.cmpop, right: Callable[..., Value], *, asks: bool
) -> _Truth:
    """A comparison; `asks` whether a value is unknown."""
    equal = isinstance(sign, (ast.Eq, ast.NotEq))
    if not equal and type(sign) not in _ORDER:
        raise ExpressionError("a comparison is not understood")
    known: dict[type[ast.cmpop], Callable[..., bool]] = {
        **_ORDER,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
    compare = known[type(sign)]

    def test(given: object) -> bool | None:
        a, b = left(given), right(given)
        if equal and asks:
            return compare(a, b)
        if a is None or b is None:
            return None
        if not equal and isinstance(a, str) != isinstance(b, str):
            return None
        return compare(a, b)

    return test


def _constants(node: ast.expr) -> set[Value]:
    if not isinstance(node, (ast.Tuple, ast.List)):
        raise ExpressionError("after 'in' comes a list such as ('a', 'b')")
    return {_constant(own) for own in node.elts}


def _constant(node: ast.expr) -> Value:
    if isinstance(node, ast.Constant) and isinstance(
        node.value, (str, int, float, bool, type(None))
    ):
        return node.value
    raise ExpressionError(f"{ast.unparse(node)[:60]!r} is not a plain value")


def _arithmetic(apply: Callable[[float, float], float], left: Value, right: Value) -> Value:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    return apply(left, right)


def _quotient(left: Value, right: Value) -> Value:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)) or right == 0:
        return None
    return left / right


def _name(node: ast.Call) -> str:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError(f"{ast.unparse(node.func)[:60]!r} is not a function")
    return node.func.id


__all__ = [
    "FUNCTIONS",
    "Condition",
    "ExpressionError",
    "Observation",
    "Summary",
    "Value",
    "deviation",
]
