"""The vocabulary of run outcomes: one definition, and what the rest of the program makes of it."""

from __future__ import annotations

import math

from misstep.checking.run import FAILURES
from misstep.checking.run import OUTCOMES as CHECKED
from misstep.oracles.values import CRASHES, FAILS, cost_of_run, exact, unknown
from misstep.runs.outcomes import FAILING, GOAL, OUTCOMES, PROVEN_FAILING, STOPPING


def test_the_words() -> None:
    assert set(OUTCOMES) - set(FAILING) == {"open", "goal", "cut"}
    assert OUTCOMES[GOAL] == "goal"
    assert set(FAILING) - set(PROVEN_FAILING) == {"timeout"}
    assert set(STOPPING) < set(PROVEN_FAILING)


def test_the_independent_checker_has_the_same() -> None:
    assert {"open", *CHECKED} == set(OUTCOMES)
    assert set(FAILURES) == set(PROVEN_FAILING)


def test_only_proven_failures_cost_infinitely_much() -> None:
    for outcome in OUTCOMES:
        cost = cost_of_run(outcome, 3)
        if outcome == "goal":
            assert cost == exact(3)
        elif outcome in PROVEN_FAILING:
            assert cost == (CRASHES if outcome == "error" else FAILS)
            assert math.isinf(cost.lower_bound)
        else:
            assert cost == unknown(0 if outcome == "timeout" else 3)
