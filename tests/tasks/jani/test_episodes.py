"""Episodes: how they begin and end, and how outcomes are drawn."""

from __future__ import annotations

from collections import Counter

import pytest

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.tasks.jani.episodes import Episodes, Rewards
from support.jani import TINY_LINE, bounded, destination, edge, model, op, pa, task, variable


def test_outcomes_are_drawn_evenly() -> None:
    """Not by the model's probabilities, which are 0.9 and 0.1."""
    own = Episodes(task(TINY_LINE))
    random = CounterRandom(0)
    start = own.start(random)
    seen = Counter(own.step(start, 0, random).state for _ in range(1000))
    assert len(seen) == 2
    assert min(seen.values()) > 400


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
