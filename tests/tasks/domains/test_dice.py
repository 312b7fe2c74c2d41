"""Random draws depend only on the key, are uniform, and reach every value."""

from __future__ import annotations

from collections import Counter

import pytest

from misstep.tasks.domains.dice import Dice

GOLDEN = [379259, 501479, 582845, 909904, 167777]


def test_the_key_fixes_the_draws() -> None:
    assert [Dice(f"{i}").below(10**6) for i in range(5)] == GOLDEN


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 8, 10**40])
def test_below_stays_below(bound: int) -> None:
    dice = Dice("bounds")
    assert all(0 <= dice.below(bound) < bound for _ in range(100))


def test_below_is_uniform() -> None:
    dice = Dice("uniform")
    counts = Counter(dice.below(5) for _ in range(10_000))
    assert set(counts) == set(range(5))
    assert all(abs(count - 2000) < 200 for count in counts.values())


def test_every_order_is_equally_likely() -> None:
    dice = Dice("orders")
    counts = Counter(tuple(dice.shuffled("abc")) for _ in range(6000))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())


def test_sample_draws_without_repetition_and_leaves_its_input_alone() -> None:
    items = list(range(10))
    drawn = Dice("sample").sample(items, 4)
    assert len(set(drawn)) == 4
    assert items == list(range(10))
    assert Dice("sample").sample(items, 0) == []


def test_unlike_never_returns_what_it_must_differ_from() -> None:
    dice = Dice("unlike")
    assert {dice.unlike(1, lambda: dice.below(3)) for _ in range(100)} == {0, 2}
