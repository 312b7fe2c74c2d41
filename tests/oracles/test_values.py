"""Three-valued costs, and the gaps that follow from them."""

from __future__ import annotations

import math

import pytest

from misstep.oracles.values import (
    FAILS,
    Cost,
    Interval,
    PolicyCost,
    cost_gap,
    cost_of_run,
    exact,
    goal_gap,
    unknown,
)


def test_no_order_by_accident() -> None:
    with pytest.raises(TypeError):
        _ = exact(3) < unknown(5)  # type: ignore[operator]
    for wrong in [(-1, True), (math.inf, False)]:
        with pytest.raises(ValueError, match="no cost"):
            PolicyCost(*wrong)


def test_kinds_and_names() -> None:
    assert [v.reaches_goal for v in (exact(3), FAILS, unknown(3))] == [True, False, None]
    assert [v.fails for v in (exact(3), FAILS, unknown(3))] == [False, True, None]
    assert [str(v) for v in (exact(3), FAILS, unknown(3))] == ["3", "fails", "at least 3"]


def test_from_runs() -> None:
    assert cost_of_run("goal", 4) == exact(4)
    for outcome in ("loop", "stuck", "inapplicable"):
        assert cost_of_run(outcome, 4) == FAILS
    for outcome in ("cut", "error", "open"):
        assert cost_of_run(outcome, 4) == unknown(4)


GAPS: list[tuple[PolicyCost, Cost, Cost, tuple[Cost, Cost], tuple[Cost, Cost]]] = [
    # policy, lower, upper, gap in cost, gap in reaching the goal
    (exact(7), 2, 5, (2, 5), (0, 0)),
    (exact(7), 7, 7, (0, 0), (0, 0)),
    (exact(0), 0, 0, (0, 0), (0, 0)),
    (FAILS, 2, 5, (math.inf, math.inf), (1, 1)),
    (FAILS, 2, math.inf, (0, math.inf), (0, 1)),
    (FAILS, math.inf, math.inf, (0, 0), (0, 0)),
    (unknown(7), 2, 5, (2, math.inf), (0, 1)),
    (unknown(7), 2, 9, (0, math.inf), (0, 1)),
    (unknown(7), 7, math.inf, (0, math.inf), (0, 1)),
    (unknown(7), math.inf, math.inf, (0, 0), (0, 0)),
]


@pytest.mark.parametrize(("policy", "lower", "upper", "in_cost", "in_goals"), GAPS)
def test_gaps(
    policy: PolicyCost,
    lower: Cost,
    upper: Cost,
    in_cost: tuple[Cost, Cost],
    in_goals: tuple[Cost, Cost],
) -> None:
    assert cost_gap(policy, lower, upper) == Interval(*in_cost)
    assert goal_gap(policy, lower, upper) == Interval(*in_goals)


def test_intervals() -> None:
    assert Interval(3, 5).is_above(Interval(1, 2)) is True
    assert Interval(3, 5).is_above(Interval(1, 3)) is None
    assert Interval(3, 5).is_above(Interval(5, 9)) is False
    assert Interval(math.inf, math.inf).is_above(Interval(math.inf, math.inf)) is False
    assert Interval(math.inf, math.inf).is_above(Interval(0, 4)) is True
    assert Interval(0, 0).is_above(Interval(0, math.inf)) is False
    assert 4 in Interval(3, 5)
    assert 6 not in Interval(3, 5)
    for wrong in [(-1, 2), (3, 2)]:
        with pytest.raises(ValueError, match="no interval"):
            Interval(*wrong)
