"""Episodes: how they begin and end, and how outcomes are drawn."""

from __future__ import annotations

from collections import Counter

import pytest

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.tasks.jani.episodes import Episodes, Rewards
from support.jani import TINY_LINE, bounded, destination, edge, model, op, pa, task, variable


@pytest.mark.parametrize(("uniform", "low", "high"), [(False, 60, 140), (True, 400, 500)])
def test_how_outcomes_are_drawn(uniform: bool, low: int, high: int) -> None:
    """By the model's probabilities, which are 0.9 and 0.1, or evenly."""
    own = Episodes(task(TINY_LINE), uniform_outcomes=uniform)
    random = CounterRandom(0)
    start = own.start(random)
    seen = Counter(own.step(start, 0, random).state for _ in range(1000))
    assert len(seen) == 2
    assert low < min(seen.values()) <= high
    rare = min(seen, key=lambda state: seen[state])
    if not uniform:
        assert own.task.probabilities(own.engine.values(start), 0)[
            own.engine.values(rare)
        ] == pytest.approx(0.1)


def test_even_probabilities_are_drawn_as_uniform_ones() -> None:
    """So that models without probabilities of their own give the same episodes either way."""
    third = op("/", 1, 3)
    document = model(
        [variable("x", bounded(0, 2), 0)],
        [edge("a", True, *(destination({"x": n}, third) for n in range(3)))],
    )
    drawn = []
    for uniform in (False, True):
        own, random = Episodes(task(document), uniform_outcomes=uniform), CounterRandom(4)
        start = own.start(random)
        drawn.append([own.step(start, 0, random).state for _ in range(100)])
    assert drawn[0] == drawn[1]


def test_ends_and_their_rewards() -> None:
    # Two is unsafe and a goal, three a goal, four a dead end.
    document = model(
        [variable("x", bounded(0, 4), 0)],
        [
            edge("a", op("=", "x", 0), destination({"x": 1})),
            *(edge("b", op("=", "x", 1), destination({"x": n})) for n in (2, 3, 4)),
        ],
        prop=pa(op("=", "x", 2), op("∧", op("≤", 2, "x"), op("≤", "x", 3))),
    )
    own = Episodes(task(document), Rewards(1.0, -2.0, -3.0, 4.0))
    random = CounterRandom(5)
    one = own.step(own.start(random), 0, random)
    assert (one.reward, one.end) == (4.0, "")
    found = {own.step(one.state, 1, random)[1:] for _ in range(100)}
    assert found == {(-2.0, "unsafe"), (1.0, "goal"), (-3.0, "dead_end")}
    assert own.mask(one.state).tolist() == [False, True]
    with pytest.raises(UsageError, match="a is not applicable"):
        own.step(one.state, 0, random)
    assert own.rewards.scale == 4.0


def test_no_episode_can_begin() -> None:
    document = model([variable("x", bounded(0, 1), 0)], [edge("a", False, destination())])
    with pytest.raises(UsageError, match="dead ends"):
        Episodes(task(document)).start(CounterRandom(0))
