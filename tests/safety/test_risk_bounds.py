"""Bounds on risks contain the exact fractions over all strategies, also on games that are hard to solve."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from misstep import _core
from support.risk_games import (
    GOAL,
    INNER,
    OPEN,
    UNSAFE,
    SmallGame,
    exact_values,
    exact_within,
    random_game,
)

PRECISION = 1e-8


def bounds(game: SmallGame) -> tuple[list[float], list[float]]:
    (low, high, _, limit), _ = game.native().bounds(PRECISION)
    assert limit == "none"
    return low.tolist(), high.tolist()


def check(game: SmallGame, context: object = None) -> None:
    low, high = bounds(game)
    for s, exact in enumerate(exact_values(game)):
        assert Fraction(low[s]) <= exact <= Fraction(high[s]), (context, s, game)
        assert high[s] - low[s] <= PRECISION, (context, s, game)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("labels", "edges"), [(1, 1), (3, 1), (1, 3), (2, 2)])
def test_bounds_hold_for_exact_fractions(seed: int, labels: int, edges: int) -> None:
    check(random_game(seed, inner=3, labels=labels, edges=edges), seed)


@pytest.mark.soundness
@pytest.mark.parametrize(("labels", "edges"), [(1, 1), (3, 1), (1, 3)])
def test_bounds_hold_for_hundreds_of_games(labels: int, edges: int) -> None:
    for seed in range(1000, 1300):
        check(random_game(seed, inner=4, labels=labels, edges=edges), seed)


@pytest.mark.soundness
def test_bounds_hold_where_both_sides_choose() -> None:
    """Here the bounds may stay apart in games that converge very slowly, but they must still hold."""
    apart = 0
    for seed in range(1000, 1300):
        game = random_game(seed, inner=4, labels=2, edges=2)
        low, high = bounds(game)
        for s, exact in enumerate(exact_values(game)):
            assert Fraction(low[s]) <= exact <= Fraction(high[s]), (seed, s)
        apart += max(map(float.__sub__, high, low)) > PRECISION
    assert apart <= 3


@pytest.mark.parametrize("seed", range(10))
def test_bounds_within_steps(seed: int) -> None:
    game = random_game(seed, inner=4, labels=2, edges=2)
    for steps in (0, 1, 2, 7):
        low, high, _, _ = game.native().bounds_within(steps)
        for s, exact in enumerate(exact_within(game, steps)):
            assert Fraction(float(low[s])) <= exact <= Fraction(float(high[s]))
            assert high[s] - low[s] < 1e-12


def test_going_round_in_circles_for_ever_is_safe() -> None:
    # 0 may stay for ever with label 0; label 1 risks one half.
    game = SmallGame([INNER, UNSAFE, GOAL], [[[[(0, 1.0)]], [[(1, 0.5), (2, 0.5)]]], [], []])
    assert bounds(game) == ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    # The same circle by the environment's choice does not help it: it has to leave.
    game = SmallGame([INNER, UNSAFE, GOAL], [[[[(0, 1.0)], [(1, 0.5), (2, 0.5)]]], [], []])
    low, high = bounds(game)
    assert low[0] <= 0.5 <= high[0]
    assert high[0] - low[0] < 1e-12


def test_an_end_component_of_the_environment_is_left_at_its_best_exit() -> None:
    game = SmallGame(
        [INNER, INNER, UNSAFE, GOAL],
        [
            [[[(1, 1.0)], [(2, 0.25), (3, 0.75)]]],
            [[[(0, 1.0)], [(2, 0.5), (0, 0.25), (3, 0.25)]]],
            [],
            [],
        ],
    )
    low, high = bounds(game)
    for s in (0, 1):
        assert low[s] <= 2 / 3 <= high[s]
        assert high[s] - low[s] < 1e-8


def test_a_long_chain_that_mixes_slowly() -> None:
    """The ruin of a gambler, with a fair coin: interval iteration alone takes 200,000 sweeps."""
    size = 400
    chain = [[[[(s - 1, 0.5), (s + 1, 0.5)]]] for s in range(1, size)]
    game = SmallGame([UNSAFE, *[INNER] * (size - 1), GOAL], [[], *chain, []])
    (low, high, sweeps, _), _ = game.native().bounds(PRECISION)
    for s in range(size + 1):
        assert Fraction(float(low[s])) <= 1 - Fraction(s, size) <= Fraction(float(high[s]))
        assert high[s] - low[s] <= 10 * PRECISION
    assert sweeps < 1_000


def test_a_million_steps_in_a_row() -> None:
    """There is no recursion, and the errors of a million steps do not add up."""
    size = 1_000_000
    kinds = np.zeros(size + 1, np.uint8)
    kinds[size] = UNSAFE
    labels_of = np.minimum(np.arange(size + 2), size).astype(np.uint64)
    ends = np.arange(size + 1, dtype=np.uint64)
    game = _core.RiskGame(
        kinds,
        labels_of,
        np.zeros(size, np.int32),
        ends,
        ends,
        np.arange(1, size + 1, dtype=np.uint32),
        np.ones(size),
    )
    (low, high, _, _), _ = game.bounds(PRECISION)
    assert low[0] == high[0] == 1.0


def test_what_was_not_explored_may_have_any_risk() -> None:
    game = SmallGame(
        [INNER, OPEN, UNSAFE, GOAL], [[[[(1, 0.5), (2, 0.25), (3, 0.25)]]], [], [], []]
    )
    low, high = bounds(game)
    assert low[0] == pytest.approx(0.25)
    assert high[0] == pytest.approx(0.75)
    assert (low[1], high[1]) == (0.0, 1.0)


def test_a_rare_danger_behind_a_long_wait() -> None:
    """If outcomes that stay in the state were not left out, this would take a billion sweeps."""
    game = SmallGame([INNER, UNSAFE, GOAL], [[[[(0, 1 - 2e-12), (1, 1e-12), (2, 1e-12)]]], [], []])
    low, high = bounds(game)
    assert low[0] <= 0.5 <= high[0]
    assert high[0] - low[0] < 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.array([-1.0])}, "sum"),
        ({"weights": np.array([np.nan])}, "sum"),
        ({"outcomes": np.array([9], np.uint32)}, "no state"),
        ({"labels_of": np.array([0, 2, 1], np.uint64)}, "offsets"),
        ({"kinds": np.array([7, 1], np.uint8)}, "labels"),
    ],
)
def test_damaged_arrays_are_refused(change: dict[str, object], message: str) -> None:
    arrays = {
        "kinds": np.array([0, 1], np.uint8),
        "labels_of": np.array([0, 1, 1], np.uint64),
        "labels": np.array([0], np.int32),
        "edges_of": np.array([0, 1], np.uint64),
        "outcomes_of": np.array([0, 1], np.uint64),
        "outcomes": np.array([1], np.uint32),
        "weights": np.array([1.0]),
    }
    with pytest.raises(ValueError, match=message):
        _core.RiskGame(**{**arrays, **change})  # type: ignore[arg-type]


def test_the_most_likely_unsafe_run() -> None:
    game = SmallGame(
        [INNER, INNER, UNSAFE, GOAL],
        [[[[(2, 0.1), (1, 0.9)]]], [[[(2, 0.5), (3, 0.5)]]], [], []],
    )
    states, probability = game.native().likely_run([0])
    assert states == [0, 1, 2]
    assert probability == pytest.approx(0.45)
    assert game.native().likely_run([3]) == ([], 0.0)


@pytest.mark.parametrize("seed", range(30))
def test_what_decisions_add_sums_up_to_what_could_be_avoided(seed: int) -> None:
    """Each decision adds what is risked after it less the least before; visits weigh it."""
    game = random_game(seed, inner=5, labels=3)
    choices = [seed % len(own) if own else 0 for own in game.labels]
    chain = game.under(choices).native()
    (low, high, _, _), _ = game.native().bounds(1e-12)
    (own_low, own_high, _, _), _ = chain.bounds(1e-12)
    after_low, after_high = chain.decision_values(low, high)
    visits = chain.visits([0], own_high)
    added = visits * ((after_low + after_high) / 2 - (low + high) / 2)
    total = added[np.array(game.kinds) == INNER].sum()
    assert total == pytest.approx((own_low[0] + own_high[0] - low[0] - high[0]) / 2, abs=1e-6)
