"""How a state has changed: the record of the old policy compared with the record of the new one.

A witness does not depend on the policy. A plan from a state is valid evidence against every version, so for an old bug
the answer is exact: the new run costs no more than the witness and nothing better is known (fixed), less than the old
run (better), as much (still), or more (worse). If the old verdict was open, and the witness of the new campaign proves
that the old run was a bug too, the bug is not new but uncovered.

A run that was cut costs at least what it had spent; nothing is known about a run that timed out, or about which the
policy was not asked again because the work ended before. The cost of a set-valued policy is that of its cheapest
permitted run (or of the most expensive one, if the settings say so), and infinite if a permitted run fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from misstep.campaigns.confirmed import NOT_ASKED_AGAIN, RUN_NOT_ASKED_AGAIN
from misstep.campaigns.records import Record

FAILING = ("loop", "stuck", "inapplicable", "error")
# What each word means, in sentences for people, in the order of tables.
CHANGES = {
    "fixed": "was a bug, and the policy is now as good as the witness",
    "better": "is still a bug, at a smaller loss",
    "still": "is a bug as before",
    "worse": "is still a bug, at a larger loss",
    "new": "was no proven bug, and is a bug now",
    "uncovered": "is a bug now, and was one before, but this was not proven",
    "clean": "was no proven bug, and is proven to be no bug now",
    "flaky": "has no verdict: the new policy contradicts itself",
    "undecided": "is undecided: neither a witness nor an oracle decides",
}
BUGS = ("better", "still", "worse", "new", "uncovered")  # those that are bugs now


@dataclass(frozen=True)
class Change:
    """How one state has changed."""

    before: Record
    after: Record
    word: str

    @property
    def is_bug(self) -> bool:
        return self.word in BUGS

    @property
    def was_bug(self) -> bool:
        return self.before.is_bug

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.before.id,
            "after": self.after.id,
            "change": self.word,
            "before": _brief(self.before),
            "now": _brief(self.after),
        }


def change_of(before: Record, after: Record) -> Change:
    """Compare two records of one state."""
    return Change(before, after, _word(before, after))


def spent(record: Record) -> float | None:
    """The cost of the policy, infinite if it fails; None if its run was cut or timed out or does not count, or for
    models."""
    if record.world == "model" or is_unconfirmed(record):
        return None
    if record.run.outcome in FAILING:
        return math.inf
    if record.run.outcome != "goal":
        return None
    permitted = record.run.permitted
    if permitted is None:
        return record.run.cost
    if not permitted.closed or permitted.least is None or permitted.most is None:
        return None  # some permitted runs are not known
    if permitted.least == permitted.most:
        return permitted.least
    # The gap, which is the distance to the lower bound, shows whether the cheapest or the most expensive run counts.
    low, high = (record.bounds or (None, None))[0], (record.gap or (None, None))[1]
    return None if low is None or high is None else low + high


def is_unconfirmed(record: Record) -> bool:
    """Whether the policy was not asked again yet, so that it may run otherwise."""
    return record.source in (NOT_ASKED_AGAIN, RUN_NOT_ASKED_AGAIN)


def spent_at_least(record: Record) -> float:
    """A lower bound on the cost of the policy, also for a run that was cut."""
    cost = spent(record)
    if cost is not None:
        return cost
    if is_unconfirmed(record):
        return 0
    is_cut = record.run.outcome == "cut" and record.run.permitted is None
    return (record.run.cost or 0) if is_cut else 0


def _word(before: Record, after: Record) -> str:
    if after.verdict == "FLAKY":
        return "flaky"
    if not before.is_bug:
        return _word_of_fine(before, after)
    if before.world == "model":
        return _word_of_model(before, after)
    if after.verdict == "OPTIMAL":
        return "fixed"
    cost, old, enough = spent(after), spent(before), _upper(before)
    if not after.is_bug:
        if cost is None or enough is None:
            return "undecided"
        if cost <= enough:
            return "fixed"
    if cost is not None and cost == old:
        return "still"
    if old is not None and spent_at_least(after) > old:
        return "worse"
    return "better" if cost is not None and cost < spent_at_least(before) else "still"


def _word_of_fine(before: Record, after: Record) -> str:
    if not after.is_bug:
        return "undecided" if after.verdict == "UNKNOWN" else "clean"
    if before.verdict != "UNKNOWN":
        return "new"
    if before.world == "model":
        is_unsafe = before.run.outcome == "unsafe" and not is_unconfirmed(before)
        return "uncovered" if is_unsafe else "new"
    enough = _upper(after)
    return "uncovered" if enough is not None and spent_at_least(before) > enough else "new"


def _word_of_model(before: Record, after: Record) -> str:
    if after.is_bug:
        return _word_by_radius(before, after)
    # With a radius, an unsafe run that takes more deviations to avoid is not a bug either, but this is no fix.
    is_unsafe = after.run.outcome == "unsafe"
    return "fixed" if after.verdict == "NOT A BUG" and not is_unsafe else "undecided"


def _word_by_radius(before: Record, after: Record) -> str:
    """Compare radii: a run that takes more deviations to avoid is worse, if the intervals decide it."""
    old, new = _bounds(before.radius), _bounds(after.radius)
    if new[1] < old[0]:
        return "better"
    return "worse" if new[0] > old[1] else "still"


def _bounds(interval: tuple[int | None, int | None] | None) -> tuple[float, float]:
    low, high = interval or (0, None)
    return math.inf if low is None else low, math.inf if high is None else high


def _upper(record: Record) -> int | None:
    return None if record.bounds is None else record.bounds[1]


def _brief(record: Record) -> dict[str, Any]:
    row = record.as_row()
    keys = ("outcome", "cost", "verdict", "kind", "gap_low", "gap_high", "family")
    return {key: row[key] for key in keys}


__all__ = ["BUGS", "CHANGES", "Change", "change_of", "is_unconfirmed", "spent", "spent_at_least"]
