"""Three-valued costs, and the gaps that follow from them."""

from __future__ import annotations

import math

import pytest

from misstep.oracles.values import (
    CRASHES,
    FAILS,
    Cost,
    Interval,
    PolicyCost,
    cost_gap,
    cost_of_permitted,
    cost_of_run,
    exact,
    goal_gap,
    unknown,
)
from misstep.runs.permitted import PermittedRuns
from misstep.verdicts import Kind


def test_costs_cannot_be_compared_with_less_than() -> None:
    with pytest.raises(TypeError):
        _ = exact(3) < unknown(5)  # type: ignore[operator]
    for wrong in [(-1, True), (math.inf, False)]:
        with pytest.raises(ValueError, match="no cost"):
            PolicyCost(*wrong)


def test_the_kinds_of_costs_have_their_names() -> None:
    assert [v.reaches_goal for v in (exact(3), FAILS, unknown(3))] == [True, False, None]
    assert [v.fails for v in (exact(3), FAILS, unknown(3))] == [False, True, None]
    assert [str(v) for v in (exact(3), FAILS, unknown(3))] == ["3", "fails", "at least 3"]


def test_costs_that_follow_from_runs() -> None:
    assert cost_of_run("goal", 4) == exact(4)
    for outcome in ("loop", "stuck", "inapplicable"):
        assert cost_of_run(outcome, 4) == FAILS
    for outcome in ("cut", "open"):
        assert cost_of_run(outcome, 4) == unknown(4)
    assert cost_of_run("error", 4) == CRASHES
    assert cost_of_run("error", 4).kind_of_bug(3) is Kind.CRASH
    # An answer that came too late may come in time next time, so nothing follows, not even a lower bound on the cost.
    assert cost_of_run("timeout", 4) == unknown(0)


CLOSED = PermittedRuns(True, 4, 6)
SETS: list[tuple[str, int, PermittedRuns, bool, PolicyCost, str]] = [
    # outcome, spent, what is known of all runs, whether the dearest counts, the cost, the kind with a plan of cost 3
    ("goal", 4, CLOSED, False, PolicyCost(4, True, Kind.COSTLY_BEST, 4), "costly-best"),
    ("goal", 6, CLOSED, True, PolicyCost(6, True, Kind.COSTLY_SOME, 4), "costly-best"),
    (
        "goal",
        9,
        PermittedRuns(False, 2, None),
        False,
        PolicyCost(2, False, Kind.COSTLY_BEST, 2),
        "costly-best",
    ),
    (
        "goal",
        9,
        PermittedRuns(False, 2, None),
        True,
        PolicyCost(9, False, Kind.COSTLY_SOME, 2),
        "costly-some",
    ),
    (
        "cut",
        9,
        PermittedRuns(False, 2, None),
        True,
        PolicyCost(9, False, Kind.UNCLASSIFIED, 2),
        "unclassified",
    ),
    (
        "loop",
        9,
        PermittedRuns(False, 2, None),
        False,
        PolicyCost(math.inf, True, Kind.FAILS_SOME),
        "fails-some",
    ),
    (
        "stuck",
        9,
        PermittedRuns(True, 2, None),
        False,
        PolicyCost(math.inf, True, Kind.FAILS_SOME),
        "fails-some",
    ),
    (
        "stuck",
        9,
        PermittedRuns(True, None, None),
        False,
        PolicyCost(math.inf, True, Kind.FAILS_ALL),
        "fails-all",
    ),
    ("error", 9, PermittedRuns(True, 2, None), True, CRASHES, "crash"),
    ("timeout", 9, PermittedRuns(False, 2, None), True, unknown(0), "unclassified"),
]


@pytest.mark.parametrize(("outcome", "spent", "runs", "costly_some", "cost", "kind"), SETS)
def test_costs_that_follow_from_permitted_runs(
    outcome: str, spent: int, runs: PermittedRuns, costly_some: bool, cost: PolicyCost, kind: str
) -> None:
    found = cost_of_permitted(outcome, spent, runs, costly_some=costly_some)
    assert found == cost
    assert found.kind_of_bug(3).value == kind


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
def test_gaps_that_follow_from_costs(
    policy: PolicyCost,
    lower: Cost,
    upper: Cost,
    in_cost: tuple[Cost, Cost],
    in_goals: tuple[Cost, Cost],
) -> None:
    assert cost_gap(policy, lower, upper) == Interval(*in_cost)
    assert goal_gap(policy, lower, upper) == Interval(*in_goals)


def test_intervals_of_gaps() -> None:
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
