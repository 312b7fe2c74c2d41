"""Three-valued costs: the truth tables, written out and by possible worlds."""

from __future__ import annotations

import math
from itertools import product

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

VALUES = [exact(0), exact(3), exact(5), FAILS, unknown(), unknown(3), unknown(5)]
TABLE: list[tuple[PolicyCost, PolicyCost, bool | None]] = [
    (exact(3), exact(5), True),
    (exact(5), exact(5), False),
    (exact(3), FAILS, True),
    (FAILS, exact(3), False),
    (FAILS, FAILS, False),
    (exact(3), unknown(5), True),
    (exact(3), unknown(3), None),
    (exact(3), unknown(), None),
    (unknown(3), exact(5), None),
    (unknown(5), exact(5), False),
    (unknown(5), exact(3), False),
    (unknown(), unknown(), None),
    (unknown(3), unknown(5), None),
    (unknown(5), unknown(3), None),
    (unknown(), FAILS, None),
    (FAILS, unknown(3), False),
]


def worlds(cost: PolicyCost) -> list[Cost]:
    """What an unknown cost may turn out to be."""
    if cost.is_exact:
        return [cost.lower_bound]
    return [cost.lower_bound, cost.lower_bound + 1, cost.lower_bound + 7, math.inf]


@pytest.mark.parametrize(("a", "b", "below"), TABLE)
def test_table_of_comparisons(a: PolicyCost, b: PolicyCost, below: bool | None) -> None:
    assert a.is_below(b) is below


def test_comparisons_hold_in_all_worlds() -> None:
    for a, b in product(VALUES, VALUES):
        answers = {x < y for x, y in product(worlds(a), worlds(b))}
        below = a.is_below(b)
        assert answers == ({True, False} if below is None else {below})


def test_sums_and_minima() -> None:
    for a, b in product(VALUES, VALUES):
        least = a.minimum(b)
        assert least.is_exact == (a.is_exact and b.is_exact)
        for x, y in product(worlds(a), worlds(b)):
            assert least.lower_bound <= min(x, y)
        assert a.plus(4).is_exact == a.is_exact
        assert a.plus(4).lower_bound == a.lower_bound + 4
    assert FAILS.plus(1) == FAILS
    assert exact(3).minimum(FAILS) == exact(3)
    assert exact(3).minimum(unknown(5)) == unknown(3)


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
