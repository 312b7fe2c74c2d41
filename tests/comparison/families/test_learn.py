"""The learner finds short rules where there is evidence for them, and none where there is not."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import CounterRandom
from misstep.comparison.families.learn import Learned, Literal, Truth, count, covers, learn


def table(rows: int, columns: int, seed: int) -> Truth:
    random = CounterRandom(seed, 9)
    return np.array(
        [[random.below(2) for _ in range(columns)] for _ in range(rows)], dtype=np.bool_
    )


def learned(truth: Truth, faulty: np.ndarray) -> Learned:
    return learn(truth[faulty], truth[~faulty], [1] * truth.shape[1])


def test_one_condition_that_tells_them_apart() -> None:
    truth = table(200, 30, 1)
    found = learned(truth, truth[:, 7])
    assert found.rules == ((Literal(7, True),),)
    assert found.exceptions == (0,)


def test_a_negation_and_a_conjunction() -> None:
    truth = table(300, 20, 2)
    found = learned(truth, ~truth[:, 3] & truth[:, 11])
    assert found.rules == ((Literal(11, True), Literal(3, False)),)


def test_two_rules_and_noise() -> None:
    truth = table(400, 15, 3)
    faulty = truth[:, 2] & truth[:, 4] | truth[:, 9] & ~truth[:, 4]
    faulty[:3] = ~faulty[:3]
    found = learned(truth, faulty)
    assert {frozenset(rule) for rule in found.rules} == {
        frozenset([Literal(2, True), Literal(4, True)]),
        frozenset([Literal(9, True), Literal(4, False)]),
    }


@pytest.mark.parametrize("faults", [1, 2])
def test_too_little_evidence_for_a_rule(faults: int) -> None:
    truth = table(12, 200, 4)
    faulty = np.arange(12) < faults
    assert learned(truth, faulty).rules == ()


def test_what_is_mostly_right_is_no_description_of_a_fault() -> None:
    truth = table(400, 1, 6)
    # A quarter of the decisions where the condition holds are faulty, and none elsewhere: that would save bits.
    faulty = truth[:, 0] & (np.arange(400) % 4 == 0)
    assert 20 < faulty.sum() < truth[:, 0].sum() / 2
    assert learned(truth, faulty).rules == ()


def test_nothing_to_tell_apart() -> None:
    truth = np.ones((20, 5), dtype=np.bool_)
    assert learned(truth, np.arange(20) < 10).rules == ()


def test_of_equal_conditions_the_lighter_one_is_told() -> None:
    truth = table(100, 4, 5)
    truth[:, 3] = truth[:, 0]
    faulty = truth[:, 0].copy()
    found = learn(truth[faulty], truth[~faulty], [5, 1, 1, 2])
    assert found.rules == ((Literal(3, True),),)


@pytest.mark.parametrize("seed", range(5))
def test_exceptions_are_what_the_rules_cover(seed: int) -> None:
    truth = table(150, 25, 10 + seed)
    random = CounterRandom(seed, 3)
    faulty = np.array([random.below(3) == 0 for _ in range(150)]) | truth[:, 0] & truth[:, 1]
    found = learned(truth, faulty)
    for rule, exceptions in zip(found.rules, found.exceptions, strict=True):
        fitting = [all(row[own.condition] == own.positive for own in rule) for row in truth]
        assert covers(rule, truth).tolist() == fitting
        assert (np.array(fitting) & ~faulty).sum() == exceptions
    assert learned(truth, faulty).rules == found.rules


def test_bits_are_counted() -> None:
    rows = np.array([[255, 1], [0, 0], [3, 128]], dtype=np.uint8)
    assert count(rows).tolist() == [9, 0, 3]
