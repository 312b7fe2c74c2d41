"""The language of tables and claims, and what may be asked about numbers."""

from __future__ import annotations

import pytest

from misstep.experiments.expressions import Condition, ExpressionError, Observation, Summary
from misstep.experiments.relations import relation

ROWS: list[Observation] = [
    {"row": "a", "x": 1, "t": 0.5, "ok": True},
    {"row": "a", "x": 2, "t": 1.5, "ok": False},
    {"row": "b", "x": 5, "t": None, "ok": True},
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("count()", 3),
        ("count(row == 'a')", 2),
        ("sum(x)", 8),
        ("sum(x, row == 'a') / sum(x, row == 'b')", 0.6),
        ("mean(t)", 1.0),
        ("median(x)", 2),
        ("min(x) + max(x)", 6),
        ("share(ok)", 2 / 3),
        ("100 * share(ok, row in ('b', 'c'))", 100),
        ("distinct(row)", 2),
        ("spread(x, row == 'a')", 0.5**0.5),
        ("sum(x, row == 'c')", None),
        ("sum(x) / count(row == 'c')", None),
        ("sum(x) > 7 and not count() < 3", True),
        ("sum(x * x - 1)", 27),
        ("sum(t > 1)", 1),
        ("share(t > 0)", 2 / 3),
        ("-sum(x)", -8),
        ("count(1 < x <= 5 and row not in ('b',))", 1),
        ("share(t == None)", 1 / 3),
        # Two figures that nobody has measured are not equal, and not different.
        ("sum(x, row == 'c') == sum(x, row == 'd')", None),
        ("sum(x, row == 'c') != sum(x)", None),
        ("not sum(x, row == 'c') > 1", None),
        ("not (sum(x, row == 'c') > 1 and count() == 3)", None),
        ("not (sum(x, row == 'c') > 1 and count() == 4)", True),
        ("sum(x, row == 'c') > 1 or count() == 3", True),
        ("sum(x, row == 'c') == None", True),
        ("count(t == missing)", 0),
        ("count(t != 0.5)", 1),
        ("count(t not in (0.5,))", 1),
        ("count(not missing)", 3),
        ("distinct(t)", None),
        ("distinct(t, row == 'a')", 2),
    ],
)
def test_values(text: str, value: object) -> None:
    found = Summary(text)(ROWS)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    "text",
    [
        "sum(",
        "x",
        "sum(sum(x))",
        "open('file')",
        "().__class__",
        "sum(x.real)",
        "sum(x)[0]",
        "sum(x, ok, ok)",
        "sum()",
        "sum(x, where=ok)",
        "sum(x in row)",
        "sum(x ** 9)",
        "lambda: 1",
        "sum(x if ok else 0)",
        "(" * 60 + "1" + ")" * 60 + "+" + "-" * 60 + "sum(x)",
        "1" * 3000,
        "f(x)(x)",
        "sum(b'x')",
    ],
)
def test_nothing_else_is_understood(text: str) -> None:
    with pytest.raises(ExpressionError):
        Summary(text)


def test_a_share_tells_how_many_of_how_many() -> None:
    assert Summary("share(ok, x < 5)").share(ROWS) == (1, 2)
    assert Summary("share(ok)").share(ROWS) == (2, 3)
    assert Summary("sum(x)").share(ROWS) is None


def test_columns_are_known() -> None:
    assert Summary("sum(x, row == 'a') + count(ok)").columns == {"x", "row", "ok"}
    assert Condition("t > 1").pick(ROWS) == [ROWS[1]]


@pytest.mark.parametrize(
    ("text", "value", "low", "high", "decided"),
    [
        (">= 0.9", 0.95, 0.91, 0.99, True),
        (">= 0.9", 0.95, 0.85, 0.99, None),
        (">= 0.9", 0.5, 0.4, 0.6, False),
        ("< 2", 1, 1, 1, True),
        ("== 0", 0, 0, 0.3, True),
        ("== 0", 3, 3, 3, False),
        ("between 0.76 and 0.96", 0.86, 0.8, 0.9, True),
        ("between 0.76 and 0.96", 0.86, 0.7, 0.9, None),
        ("between 0.76 and 0.96", 0.86, 0.5, 0.99, None),
        ("between 0.76 and 0.96", 0.3, 0.2, 0.4, False),
    ],
)
def test_relations(text: str, value: float, low: float, high: float, decided: bool | None) -> None:
    assert relation(text).decide(value, low, high) is decided


@pytest.mark.parametrize("text", ["", "0.9", "=> 1", "between 2 and 1", ">= x", "about 3"])
def test_no_relations(text: str) -> None:
    with pytest.raises(ExpressionError):
        relation(text)
