"""Conditions in words: their meaning agrees with Python's, and conditions without a meaning are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.checking.jani.expressions import evaluate
from misstep.errors import UsageError
from misstep.tasks.jani.infix import parse_condition

VALUES = {"x": 3, "y": -2, "A.z": 7, "b": True, "two words": 5}


def value(text: str) -> Any:
    return evaluate(parse_condition(text, "--unsafe"), VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 3 and not y > 0", True),
        ("x == 3 && !(y > 0 || b)", False),
        ("x ≠ 3 or A.z >= 7", True),
        ("1 + 2 * x - -y % 3", 5),
        ("(1 + 2) * x", 9),
        ("- x + 1", -2),
        ("min(x, y) + abs(y) * max(1, 2)", 2),
        ("ite(b, x, 0) = 3", True),
        ('"two words" <= 5.0', True),
        ("NOT b or TRUE", True),
        ("floor(x / 2) = 1", True),
        ("not not b", True),
        ("1.5e1 > 14", True),
    ],
)
def test_meaning(text: str, expected: object) -> None:
    assert value(text) == expected


def test_cells_of_arrays() -> None:
    assert parse_condition("a[x + 1][0] = 2", "--goal")["left"] == {
        "op": "aa",
        "exp": {"op": "aa", "exp": "a", "index": {"op": "+", "left": "x", "right": 1}},
        "index": 0,
    }


@given(
    st.recursive(
        st.sampled_from(["x", "y", "2", "5"]),
        lambda inner: st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner
        ),
        max_leaves=12,
    )
)
def test_arithmetic_is_that_of_python(text: str) -> None:
    plain = text.replace("(", " ").replace(")", " ")
    for written in (text, plain):
        assert value(written) == eval(written, {}, dict(VALUES))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it ends too early"),
        ("x >", "it ends too early"),
        ("x > 3)", "')' comes unexpectedly"),
        ("(x > 3", "')' is missing"),
        ("1 < x < 3", "two comparisons in a row"),
        ("x $ 3", "'$ 3' is not understood"),
        ("root(x)", "there is no function 'root'"),
        ("min(x)", "min takes 2 arguments, not 1"),
        ("x y", "'y' comes unexpectedly"),
        ("and x", "'and' comes unexpectedly"),
        ("(" * 200 + "x" + ")" * 200, "too many brackets"),
        ("x" * 20_000, "20000 characters"),
        ('x = "y', "is not understood"),
    ],
)
def test_what_means_nothing_is_said_with_the_option(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text, "--unsafe")
    assert said in str(caught.value)
    assert str(caught.value).startswith("--unsafe")
    assert len(str(caught.value)) < 300
