"""The distance to unsafety: zero exactly in unsafe states, and the documented numbers elsewhere."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep.tasks.jani.task import JaniTask
from support.jani import TINY_LINE, bounded, model, op, pa, task, variable

OR = "\u2228"
VARIABLES = [
    variable("i", bounded(-2, 2), 0),
    variable("j", bounded(0, 3), 0),
    variable("b", "bool", False),
    variable("x", bounded(-1, 1, "real"), 0.0),
]


def built(condition: Any, **options: Any) -> JaniTask:
    return task(model(VARIABLES, [], prop=pa(condition)), **options)


@pytest.mark.parametrize(
    ("condition", "state", "expected"),
    [
        (op("≤", "i", -2), (1, 0, False, 0.0), 3),
        (op("<", "i", -1), (1, 0, False, 0.0), 3),
        (op("≥", "i", 2), (-1, 0, False, 0.0), 3),
        (op(">", "i", 1), (1, 0, False, 0.0), 1),
        (op("=", "i", "j"), (-2, 3, False, 0.0), 5),
        (op("≠", "i", "j"), (1, 1, False, 0.0), 1),
        (op("¬", op("≠", "i", 2)), (-1, 0, False, 0.0), 3),
        (op("<", "x", -0.5), (0, 0, False, 0.5), 1 + 1e-5),
        (op("≠", "x", 0.5), (0, 0, False, 0.5), 1e-5),
        ("b", (0, 0, False, 0.0), 1),
        (op("¬", "b"), (0, 0, True, 0.0), 1),
        (op("∧", op("=", "i", 2), "b"), (0, 0, False, 0.0), 3),
        (op(OR, op("=", "i", 2), "b"), (0, 0, False, 0.0), 1),
        (op("¬", op("∧", op("≤", "i", 2), "b")), (0, 0, True, 0.0), 1),
        (op("⇒", op("≤", "i", 1), op("=", "j", 3)), (0, 0, False, 0.0), 2),
        (op("ite", "b", op("=", "i", 2), op("=", "i", -2)), (1, 0, False, 0.0), 2),
        (op("=", "b", op("=", "i", 0)), (0, 0, False, 0.0), 1),
        (op("≤", op("*", "i", "j"), -4), (1, 2, False, 0.0), 6),
        (op("=", op("+", op("*", 2, "i"), op("*", 3, "j")), 9), (0, 1, False, 0.0), 6),
        (False, (0, 0, False, 0.0), math.inf),
        (True, (0, 0, False, 0.0), 0),
        (op("∧", op("≠", "j", 0), op(">", op("/", 1, "j"), 2)), (0, 0, False, 0.0), 2),
    ],
    ids=str,
)
def test_the_documented_distances(condition: Any, state: Any, expected: float) -> None:
    assert built(condition).distance(state) == expected


def test_scaled_to_half_spaces() -> None:
    condition = op("=", op("+", op("*", 2, "i"), op("*", 3, "j")), 9)
    assert built(condition, scale="l1").distance((0, 1, False, 0.0)) == 2


def test_another_condition_can_guide() -> None:
    reach = op("=", "crash", 1)
    guide = op(OR, op("≤", "L", op("+", "pos", "vel")), reach)
    prop = {**TINY_LINE["properties"][0]["expression"]}
    plain = task(TINY_LINE)
    prop["x-distance"] = {"op": "state-condition", "exp": guide}
    guided = task({**TINY_LINE, "properties": [{"name": "safety", "expression": prop}]})
    for pos, vel in product(range(3), range(3)):
        assert plain.distance((pos, vel, 0)) == 1
        assert guided.distance((pos, vel, 0)) == min(max(0, 3 - pos - vel), 1)


def test_what_has_no_geometry_is_counted() -> None:
    core = built(op("∧", op("≤", op("*", "i", "j"), 0), op("≤", "i", "j"))).core
    assert (core.nonlinear_atoms, core.opaque_atoms) == (1, 0)


numbers = st.one_of(
    st.sampled_from(["i", "j", "x"]), st.integers(-3, 3), st.sampled_from([0.5, -1.0])
)
terms = st.one_of(
    numbers,
    st.builds(op, st.sampled_from(["+", "-", "*", "min"]), numbers, numbers),
)
atoms = st.one_of(
    st.builds(op, st.sampled_from(["=", "≠", "<", "≤", ">", "≥"]), terms, terms),
    st.just("b"),
    st.booleans(),
)
conditions = st.recursive(
    atoms,
    lambda below: st.one_of(
        st.builds(op, st.sampled_from(["∧", OR, "⇒", "=", "≠"]), below, below),
        st.builds(op, st.just("¬"), below),
        st.builds(op, st.just("ite"), below, below, below),
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(condition=conditions)
def test_zero_exactly_where_the_condition_holds(condition: Any) -> None:
    # Comparisons of Booleans with numbers are no expressions; `=` is used on both.
    unsafe = built(condition)
    for state in product(range(-2, 3), range(4), (False, True), (-1.0, 0.0, 0.5, 1.0)):
        distance = unsafe.distance(state)
        assert distance >= 0
        assert (distance == 0) == unsafe.is_unsafe(state)
