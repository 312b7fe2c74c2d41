"""The change of a state for each pair of an old and a new result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from misstep.campaigns.records import Permitted, Record
from misstep.comparison.changes import BUGS, CHANGES, change_of, spent
from support.records import record

FAILS = {"outcome": "loop", "cost": 9, "verdict": "BUG", "kind": "fails", "bounds": (2, 4)}


def costs(cost: int, verdict: str = "BUG", upper: int | None = 4) -> dict[str, Any]:
    return {"outcome": "goal", "cost": cost, "verdict": verdict, "bounds": (2, upper)}


CUT = {"outcome": "cut", "cost": 100, "verdict": "UNKNOWN", "bounds": (2, 4)}


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (FAILS, costs(4, "UNKNOWN"), "fixed"),  # as good as the witness, if not proven optimal
        (FAILS, costs(2, "OPTIMAL", 2), "fixed"),
        (FAILS, costs(4, upper=3), "better"),  # than before; a better witness proves a bug still
        (costs(8), {**CUT, "verdict": "BUG", "kind": "unclassified", "cost": 5}, "still"),
        ({**CUT, "verdict": "BUG", "kind": "unclassified"}, costs(6), "better"),
        ({**CUT, "verdict": "BUG", "kind": "unclassified", "cost": 5}, costs(6), "still"),
        (costs(8), {"outcome": "error", "verdict": "BUG", "kind": "crash"}, "worse"),
        (costs(8), {"outcome": "timeout", "verdict": "UNKNOWN"}, "undecided"),
        (costs(8), costs(6, "UNKNOWN"), "better"),  # judged apart: the old witness proves a bug
        (FAILS, costs(6), "better"),
        (costs(8), costs(6), "better"),
        (costs(8), costs(8), "still"),
        (FAILS, FAILS, "still"),
        (costs(8), costs(9), "worse"),
        (costs(8), FAILS, "worse"),
        (FAILS, CUT, "undecided"),
        (costs(8), {**CUT, "verdict": "BUG", "kind": "unclassified"}, "worse"),
        (FAILS, {**costs(4), "verdict": "FLAKY"}, "flaky"),
        (FAILS, {**costs(4, "UNKNOWN"), "source": "not asked again"}, "undecided"),
        (costs(8), {**FAILS, "verdict": "UNKNOWN", "source": "not asked again"}, "undecided"),
        ({**costs(5, "UNKNOWN", None), "source": "not asked again"}, costs(5, upper=4), "new"),
        (costs(4, "OPTIMAL"), costs(5), "new"),
        (costs(4, "UNKNOWN", None), costs(5, upper=4), "new"),
        (costs(5, "UNKNOWN", None), costs(5, upper=4), "uncovered"),
        ({**CUT, "bounds": (2, None)}, costs(5, upper=4), "uncovered"),  # it had spent more already
        ({**CUT, "cost": 3, "bounds": (2, None)}, costs(5, upper=4), "new"),
        (costs(4, "OPTIMAL"), costs(4, "OPTIMAL"), "clean"),
        (costs(4, "OPTIMAL"), CUT, "undecided"),
    ],
)
def test_costs_are_compared_with_the_old_witness(
    before: dict[str, Any], after: dict[str, Any], word: str
) -> None:
    change = change_of(record(**before), record(**after))
    assert change.word == word
    assert change.is_bug == (word in BUGS)


@pytest.mark.parametrize(
    ("old", "verdict", "new", "word"),
    [
        ((2, 2), "BUG", (1, 1), "better"),
        ((1, 2), "BUG", (2, 3), "still"),  # the intervals meet
        ((1, 1), "BUG", (2, None), "worse"),
        (
            (1, 1),
            "NOT A BUG",
            None,
            "undecided",
        ),  # unsafe still, but not avoidable within the radius
        ((1, 1), "UNKNOWN", None, "undecided"),
    ],
)
def test_dangers_are_compared_by_their_radius(
    old: tuple[int, int], verdict: str, new: tuple[int, int | None] | None, word: str
) -> None:
    before = record(world="model", verdict="BUG", kind="unsafe", outcome="unsafe", radius=old)
    after = record(world="model", verdict=verdict, outcome="unsafe", radius=new)
    assert change_of(before, after).word == word


@pytest.mark.parametrize(
    ("verdict", "outcome", "now", "word"),
    [
        ("BUG", "unsafe", {"verdict": "NOT A BUG", "outcome": "safe", "radius": (0, 0)}, "fixed"),
        ("BUG", "unsafe", {"verdict": "UNKNOWN", "outcome": "cut"}, "undecided"),
        ("BUG", "unsafe", {"verdict": "UNKNOWN", "outcome": "error"}, "undecided"),
        ("UNKNOWN", "unsafe", {"verdict": "BUG", "outcome": "unsafe"}, "uncovered"),
        ("UNKNOWN", "cut", {"verdict": "BUG", "outcome": "unsafe"}, "new"),
        ("NOT A BUG", "safe", {"verdict": "BUG", "outcome": "unsafe"}, "new"),
        ("NOT A BUG", "unsafe", {"verdict": "NOT A BUG", "outcome": "unsafe"}, "clean"),
    ],
)
def test_a_model_is_fixed_where_no_run_is_unsafe(
    verdict: str, outcome: str, now: dict[str, Any], word: str
) -> None:
    kind: dict[str, Any] = {"kind": "unsafe", "radius": (1, 1)} if verdict == "BUG" else {}
    before = record(world="model", verdict=verdict, outcome=outcome, **kind)
    own = {"kind": "unsafe", "radius": (1, 1)} if now["verdict"] == "BUG" else {}
    assert change_of(before, record(world="model", **{**own, **now})).word == word


def permitted(
    outcome: str, least: int | None, most: int | None, verdict: str, **more: Any
) -> Record:
    known = Permitted(most is not None, least, most)
    own = record(outcome=outcome, cost=9, verdict=verdict, **more)
    return replace(own, run=replace(own.run, permitted=known))


def test_a_policy_that_permits_several_operators_is_compared_by_what_counts() -> None:
    bounds = {"bounds": (2, 4)}
    before = permitted("goal", 8, 9, "BUG", kind="costly-best", gap=(4, 6), **bounds)
    assert spent(before) == 8  # the cheapest permitted run counts, the recorded one costs 9
    dearest = permitted("goal", 8, 9, "BUG", kind="costly-some", gap=(5, 7), **bounds)
    assert spent(dearest) == 9
    open_ones = permitted("goal", 8, None, "UNKNOWN", gap=(0, None), **bounds)
    assert spent(open_ones) is None
    fixed = permitted("goal", 4, 9, "UNKNOWN", gap=(0, 2), **bounds)
    fails = permitted("stuck", 4, None, "BUG", kind="fails-some", gap=(None, None), **bounds)
    assert change_of(before, fixed).word == "fixed"
    assert change_of(before, fails).word == "worse"
    assert change_of(before, dearest).word == "worse"
    assert change_of(before, open_ones).word == "undecided"


def test_every_change_has_a_sentence() -> None:
    assert set(BUGS) < set(CHANGES)
    assert all(sentence and not sentence.endswith(".") for sentence in CHANGES.values())
