"""Every operator: by hand, and random expressions against Python's own arithmetic."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from misstep.errors import InputFormatError
from support.jani import bounded, evaluator, op, variable

BIG = 2**63 - 1
OR = "\u2228"
# Not constants, so that nothing is folded.
HELD = [variable("two", bounded(0, 9), 2), variable("half", bounded(-9, 9, "real"), 0.5)]
RESULTS = [
    (op("+", 2, 3), 5),
    (op("-", 2, 3), -1),
    (op("*", 2, -3), -6),
    (op("/", 3, 2), 1.5),
    (op("+", 1, 0.5), 1.5),
    (op("%", 7, 3), 1),
    (op("%", -7, 3), 2),
    (op("min", 2, 1.5), 1.5),
    (op("max", 2, 3), 3),
    (op("floor", -1.5), -2),
    (op("ceil", -1.5), -1),
    (op("trc", -1.5), -1),
    (op("trc", 1.5), 1),
    (op("floor", 3), 3),
    (op("abs", -4), 4),
    (op("abs", -1.5), 1.5),
    (op("sgn", -0.5), -1),
    (op("sgn", 0), 0),
    (op("pow", 2, 10), 1024.0),
    (op("log", 8, 2), 3.0),
    (op("sin", 0), 0.0),
    (op("cos", 0), 1.0),
    (op("ite", True, 1, 2.5), 1.0),
    (op("∧", True, False), False),
    (op(OR, True, False), True),
    (op("¬", True), False),
    (op("⇒", False, False), True),
    (op("⇒", True, False), False),
    (op("=", 1, 1.0), True),
    (op("≠", True, False), True),
    (op("<", 1, 1), False),
    (op("≤", 1, 1), True),
    (op(">", 2, 1.5), True),
    (op("≥", 1, 2), False),
    ({"constant": "π"}, math.pi),
    ({"constant": "e"}, math.e),
    ({"exp": {"expression": 4}}, 4),
]


def kind_of(value: Any) -> str:
    return {bool: "bool", int: "int", float: "real"}[type(value)]


def hide(expression: Any) -> Any:
    """The same with no constants left: numbers become sums with variables."""
    if isinstance(expression, bool):
        return op("=", "two", 2 if expression else 3)
    if isinstance(expression, int):
        return op("+", op("-", "two", 2), expression)
    if isinstance(expression, float):
        return op("+", op("-", "half", 0.5), expression)
    return {k: v if k in ("op", "constant") else hide(v) for k, v in expression.items()}


def run(expression: Any, kind: str, variables: Any = HELD) -> Any:
    task = evaluator(variables, expression, kind)
    return task.outcomes(task.initial_states()[0], "a")[0][-1]


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize(("expression", "expected"), RESULTS, ids=lambda x: str(x)[:50])
def test_the_value_of_each_operator_by_hand(expression: Any, expected: Any, folded: bool) -> None:
    result = run(expression if folded else hide(expression), kind_of(expected))
    assert result == expected
    assert type(result) is type(expected)


FAULTS = [
    (op("+", BIG, 1), "int", "does not fit"),
    (op("-", -BIG, 2), "int", "does not fit"),
    (op("*", BIG, 2), "int", "does not fit"),
    (op("abs", op("-", -BIG, 1)), "int", "does not fit"),
    (op("%", 5, 0), "int", "not positive"),
    (op("%", 5, -3), "int", "not positive"),
    (op("/", 1, 0), "real", "division by zero"),
    (op("/", 1, op("-", 0.0, 0.0)), "real", "division by zero"),
    (op("*", 1e200, 1e200), "real", "infinite"),
    (op("pow", -1, 0.5), "real", "infinite or not a number"),
    (op("log", 0, 2), "real", "infinite or not a number"),
    (op("floor", 1e19), "int", "does not fit"),
]


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize(("expression", "kind", "what"), FAULTS, ids=lambda x: str(x)[:50])
def test_an_operation_without_a_result_is_an_error_only_where_it_is_evaluated(
    expression: Any, kind: str, what: str, folded: bool
) -> None:
    """An error when the expression is reached, and only then."""
    bad = expression if folded else hide(expression)
    with pytest.raises(InputFormatError, match=what) as caught:
        run(bad, kind)
    assert "two=2" in caught.value.what
    assert (caught.value.where or "").endswith(
        "automata[0].edges[0].destinations[0].assignments[0].value"
    )
    fine = op("ite", hide(False), bad, 0)
    assert run(fine, kind) == 0
    test = op("≥", bad, 0)
    assert run(op("∧", hide(False), test), "bool") is False
    assert run(op(OR, hide(True), test), "bool") is True
    assert run(op("⇒", hide(False), test), "bool") is True
    with pytest.raises(InputFormatError, match=what):
        run(op("∧", test, hide(False)), "bool")


def test_a_negative_zero_is_stored_as_zero() -> None:
    """Reals are compared bit by bit, so a negative zero is stored as zero."""
    result = run(op("*", hide(0.0), -1.0), "real")
    assert math.copysign(1, result) == 1


# -- random expressions ------------------------------------------------------------------------------

NAMES = {"i": 3, "j": -2, "x": 0.25, "y": -3.5, "b": True, "c": False}
VARIABLES = [
    variable("i", bounded(-5, 5), 3),
    variable("j", "int", -2),
    variable("x", bounded(-1, 1, "real"), 0.25),
    variable("y", "real", -3.5),
    variable("b", "bool", True),
    variable("c", "bool", False),
]


class NoResultError(Exception):
    pass


def reference(expression: Any) -> Any:
    """Python's arithmetic on the same JSON; errors where the model would be wrong."""
    if isinstance(expression, str):
        return NAMES[expression]
    if not isinstance(expression, dict):
        return expression
    symbol = expression["op"]

    def get(key: str) -> Any:
        return reference(expression[key])

    if symbol == "∧":
        return get("left") and get("right")
    if symbol == OR:
        return get("left") or get("right")
    if symbol == "⇒":
        return not get("left") or get("right")
    if symbol == "¬":
        return not get("exp")
    if symbol == "ite":
        branch = get("then") if get("if") else get("else")
        return float(branch) if real(expression["then"]) or real(expression["else"]) else branch
    operands = [get("exp")] if "exp" in expression else [get("left"), get("right")]
    if not isinstance(operands[0], bool) and any(isinstance(value, float) for value in operands):
        operands = [float(value) for value in operands]
    if symbol == "%" and operands[1] <= 0:
        raise NoResultError
    try:
        result = FUNCTIONS[symbol](*operands)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise NoResultError from error
    if isinstance(result, float) and not math.isfinite(result):
        raise NoResultError
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        raise NoResultError
    return result


def real(expression: Any) -> bool:
    """Whether an expression is of type real, by its form."""
    if isinstance(expression, str):
        return isinstance(NAMES[expression], float)
    if not isinstance(expression, dict):
        return isinstance(expression, float)
    symbol = expression["op"]
    if symbol in ("floor", "ceil", "trc", "sgn", "%"):
        return False
    if symbol in ("/", "pow", "log", "sin", "cos"):
        return True
    return any(real(value) for key, value in expression.items() if key not in ("op", "if"))


FUNCTIONS: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "trc": math.trunc,
    "abs": abs,
    "sgn": lambda a: (a > 0) - (a < 0),
    "pow": math.pow,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "=": lambda a, b: a == b,
    "≠": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
}

integer_leaves = st.one_of(st.sampled_from(["i", "j"]), st.integers(-4, 4), st.just(BIG))
real_leaves = st.one_of(st.sampled_from(["x", "y"]), st.sampled_from([0.0, 0.5, -1.75, 1e200]))
boolean_leaves = st.one_of(st.sampled_from(["b", "c"]), st.booleans())


def numbers(depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return st.one_of(integer_leaves, real_leaves)
    return st.one_of(integers(depth), reals(depth))


def integers(depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return integer_leaves
    below = integers(depth - 1)
    return st.one_of(
        integer_leaves,
        st.builds(op, st.sampled_from(["+", "-", "*", "%", "min", "max"]), below, below),
        st.builds(op, st.sampled_from(["abs", "sgn"]), below),
        st.builds(op, st.sampled_from(["floor", "ceil", "trc", "sgn"]), reals(depth - 1)),
        st.builds(op, st.just("ite"), booleans(depth - 1), below, below),
    )


def reals(depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return real_leaves
    below, mixed = reals(depth - 1), numbers(depth - 1)
    return st.one_of(
        real_leaves,
        st.builds(op, st.sampled_from(["+", "-", "*", "min", "max"]), below, mixed),
        st.builds(op, st.sampled_from(["/", "pow", "log"]), mixed, mixed),
        st.builds(op, st.sampled_from(["abs", "sin", "cos"]), below),
        st.builds(op, st.just("ite"), booleans(depth - 1), mixed, below),
    )


def booleans(depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return boolean_leaves
    below, mixed = booleans(depth - 1), numbers(depth - 1)
    return st.one_of(
        boolean_leaves,
        st.builds(op, st.sampled_from(["∧", OR, "⇒", "=", "≠"]), below, below),
        st.builds(op, st.sampled_from(["=", "≠", "<", "≤", ">", "≥"]), mixed, mixed),
        st.builds(op, st.just("¬"), below),
        st.builds(op, st.just("ite"), below, below, below),
    )


expressions = st.one_of(
    st.tuples(st.just("int"), integers(3)),
    st.tuples(st.just("real"), reals(3)),
    st.tuples(st.just("bool"), booleans(3)),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions)
def test_random_expressions_as_python_has_them(case: tuple[str, Any]) -> None:
    kind, expression = case
    try:
        expected = reference(expression)
    except NoResultError:
        with pytest.raises(InputFormatError):
            run(expression, kind, VARIABLES)
        return
    result = run(expression, kind, VARIABLES)
    assert result == expected
    assert type(result) is {"int": int, "real": float, "bool": bool}[kind]
