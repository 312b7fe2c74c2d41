"""What became of a state, for each pair of an old and a new result."""

from __future__ import annotations

from typing import Any

import pytest

from misstep.comparison.changes import BUGS, CHANGES, change_of
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
        (FAILS, costs(4, upper=3), "fixed"),  # of the old witness; a better one says what is left
        (FAILS, costs(6), "better"),
        (costs(8), costs(6), "better"),
        (costs(8), costs(8), "still"),
        (FAILS, FAILS, "still"),
        (costs(8), costs(9), "worse"),
        (costs(8), FAILS, "worse"),
        (FAILS, CUT, "undecided"),
        (costs(8), {**CUT, "verdict": "BUG", "kind": "unclassified"}, "still"),
        (FAILS, {**costs(4), "verdict": "FLAKY"}, "flaky"),
        (costs(4, "OPTIMAL"), costs(5), "new"),
        (costs(4, "UNKNOWN", None), costs(5, upper=4), "new"),
        (costs(5, "UNKNOWN", None), costs(5, upper=4), "uncovered"),
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
        ((1, 1), "NOT A BUG", None, "fixed"),
        ((1, 1), "UNKNOWN", None, "undecided"),
    ],
)
def test_dangers_are_compared_by_their_radius(
    old: tuple[int, int], verdict: str, new: tuple[int, int | None] | None, word: str
) -> None:
    before = record(world="model", verdict="BUG", kind="unsafe", outcome="unsafe", radius=old)
    after = record(world="model", verdict=verdict, outcome="unsafe", radius=new)
    assert change_of(before, after).word == word


def test_every_change_has_a_sentence() -> None:
    assert set(BUGS) < set(CHANGES)
    assert all(sentence and not sentence.endswith(".") for sentence in CHANGES.values())
