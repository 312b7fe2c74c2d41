"""The checker of strategies and unsafe runs accepts right ones and refuses each kind of wrong one."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest

from misstep.checking import Situation, validate_strategy, validate_unsafe_run

GOAL = Situation(False, True, None, {})
BAD = Situation(True, False, None, {})
STUCK = Situation(False, False, None, {})


def plain(policy: str, **actions: str) -> Situation:
    return Situation(False, False, policy, {a: tuple(t) for a, t in actions.items()})


FRAGMENT: dict[Hashable, Situation] = {
    "s": plain("a", a="tB", b="tu"),
    "t": plain("a", a="B", b="G"),
    "u": plain("a", a="u", b="D", c=""),
    "G": GOAL,
    "B": BAD,
    "D": STUCK,
}
GOOD = {"s": "b", "t": "b", "u": "a"}


def test_right_strategies_are_accepted() -> None:
    report = validate_strategy(FRAGMENT, "s", GOOD, 2)
    assert (report.valid, report.deviations, report.states) == (True, 2, 4)
    assert validate_strategy(FRAGMENT, "s", GOOD).valid
    assert validate_strategy(FRAGMENT, "G", {}, 0).valid


@pytest.mark.parametrize(
    ("change", "start", "radius", "reason"),
    [
        ({"s": "a"}, "s", math.inf, "'B' is unsafe"),
        ({"t": "a"}, "s", math.inf, "'B' is unsafe"),
        ({"t": None}, "s", math.inf, "no label is given for 't'"),
        ({"t": "z"}, "s", math.inf, "'z' does not apply in 't'"),
        ({"u": "c"}, "s", math.inf, "'c' has no outcome in 'u'"),
        ({}, "s", 1, "2 deviations, not 1 at most"),
        ({}, "B", math.inf, "'B' is unsafe"),
        ({}, "x", math.inf, "nothing is known about 'x'"),
    ],
)
def test_wrong_strategies_are_refused(
    change: dict[str, str | None], start: str, radius: float, reason: str
) -> None:
    strategy = {s: a for s, a in {**GOOD, **change}.items() if a is not None}
    report = validate_strategy(FRAGMENT, start, strategy, radius)
    assert (report.valid, report.reason) == (False, reason)


def test_dead_ends_are_safe_or_not_as_the_rules_say() -> None:
    strategy = {**GOOD, "u": "b"}
    assert validate_strategy(FRAGMENT, "s", strategy, 2).valid
    assert not validate_strategy(FRAGMENT, "s", strategy, 2, dead_ends_are_safe=False).valid


def test_deviation_in_a_cycle_counts_each_time() -> None:
    fragment: dict[Hashable, Situation] = {
        "s": plain("a", a="t"),
        "t": plain("a", a="B", b="su"),
        "u": plain("a", a="u"),
        "v": plain("a", a="B", b="s"),
        "B": BAD,
    }
    around = {"s": "a", "t": "b", "u": "a", "v": "b"}
    assert validate_strategy(fragment, "s", around).deviations == math.inf
    assert not validate_strategy(fragment, "s", around, 10**9).valid
    assert validate_strategy(fragment, "v", around).deviations == math.inf
    # The way with most deviations counts, not their sum.
    split: dict[Hashable, Situation] = {
        "s": plain("a", a="tu"),
        "t": plain("a", a="B", b="u"),
        "u": plain("a", a="B", b="G"),
        "G": GOAL,
        "B": BAD,
    }
    assert validate_strategy(split, "s", {"s": "a", "t": "b", "u": "b"}).deviations == 2


def test_a_strategy_of_a_long_chain_is_checked() -> None:
    n = 20_000
    fragment: dict[Hashable, Situation] = {
        i: Situation(False, False, "b" if i % 2 else "a", {"a": (i + 1,)}) for i in range(n)
    }
    fragment[n] = GOAL
    report = validate_strategy(fragment, 0, dict.fromkeys(range(n), "a"))
    assert (report.valid, report.deviations) == (True, n / 2)


def test_unsafe_runs_are_checked() -> None:
    assert validate_unsafe_run(FRAGMENT, "stB", "aa") == ""
    assert validate_unsafe_run(FRAGMENT, "B", "") == ""
    for states, labels, reason in (
        ("stB", "a", "no run: 3 states, 1 labels"),
        ("st", "a", "the last state is not unsafe"),
        ("stG", "ab", "step 2: the policy takes 'a', not 'b'"),
        ("su", "a", "step 1 ('a') does not lead to the next state"),
        ("GB", "a", "step 1 leaves a state where runs end"),
        ("BB", "a", "step 1 leaves a state where runs end"),
        ("xB", "a", "nothing is known about the state before step 1"),
        ("D", "", "the last state is not unsafe"),
    ):
        assert validate_unsafe_run(FRAGMENT, states, labels) == reason
    assert validate_unsafe_run(FRAGMENT, "D", "", dead_ends_are_safe=False) == ""
    assert validate_unsafe_run({}, "D", "") == "nothing is known about the last state"
