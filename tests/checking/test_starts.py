"""The starts of a model, listed by the checker itself."""

from __future__ import annotations

from typing import Any

import pytest

from misstep.checking.certificates.starts import TooManyStartsError, start_states
from misstep.checking.jani import SafetyTask
from support import jani


def plain(document: Any) -> SafetyTask:
    return SafetyTask.from_source(jani.task(document).source)


def test_starts_that_cannot_be_listed() -> None:
    real = jani.model(
        [jani.variable("w", jani.bounded(0.0, 1.0, "real"))],
        [],
        prop=jani.pa(start={"op": "state-condition", "exp": jani.op("<", "w", 0.5)}),
    )
    with pytest.raises(TooManyStartsError, match="leaves the real variable 'w' open"):
        list(start_states(plain(real)))
    many = jani.model(
        [jani.variable(name, jani.bounded(0, 99)) for name in "xyz"],
        [],
        prop=jani.pa(start={"op": "state-condition", "exp": jani.op("≤", "x", 98)}),
    )
    with pytest.raises(TooManyStartsError, match="takes too long"):
        list(start_states(plain(many), 1000))


def test_an_integer_may_equal_a_real_number() -> None:
    document = jani.model(
        [jani.variable("x", jani.bounded(0, 9))],
        [],
        prop=jani.pa(start={"op": "state-condition", "exp": jani.op("=", "x", 5.0)}),
    )
    assert list(start_states(plain(document))) == [(5,)]


def test_sums_are_given_up_early() -> None:
    total = jani.op("+", *(f"x{i}" for i in range(12)))
    document = jani.model(
        [jani.variable(f"x{i}", jani.bounded(0, 9)) for i in range(12)],
        [],
        prop=jani.pa(start={"op": "state-condition", "exp": jani.op("=", total, 2)}),
    )
    assert len(list(start_states(plain(document), 10_000))) == 12 * 13 // 2


def test_a_start_may_be_given_by_constants() -> None:
    """A real number and one without bounds, by expressions that read no variable."""
    document = jani.model(
        [jani.variable("w", jani.bounded(0.0, 9.0, "real")), jani.variable("n", "int")],
        [],
        constants=[{"name": "C", "type": "real", "value": 0.5}],
        prop=jani.pa(
            start={
                "op": "state-condition",
                "exp": jani.op(
                    "∧",
                    jani.op("=", "w", jani.op("*", "C", 3)),
                    jani.op("=", jani.op("-", 7, 4), "n"),
                ),
            }
        ),
    )
    assert list(start_states(plain(document))) == [(1.5, 3)]


def test_the_initial_states_of_the_model_may_be_given_by_its_restriction() -> None:
    document = jani.model(
        [
            jani.variable("w", jani.bounded(0.0, 9.0, "real")),
            jani.variable("n", jani.bounded(0, 9)),
        ],
        [],
    )
    restriction = jani.op("∧", jani.op("=", "w", 0.5), jani.op("<", "n", 2))
    document["restrict-initial"] = {"exp": restriction}
    assert list(start_states(plain(document))) == [(0.5, 0), (0.5, 1)]
