"""Find the worst bug of a campaign and describe it in one sentence.

The order is fixed, so that everybody who looks at a campaign sees the same bug first. Unsafe runs and runs that miss
the goal are worse than runs that only cost more. Among runs that miss the goal, the one with the cheapest plan is
worst, because it was the easiest to avoid. Among unsafe runs, it is the one that the fewest deviations avoid; among
costly runs, the one with the largest proven gap. If bugs are equal, the one that was found first comes first.
"""

from __future__ import annotations

import math

from misstep.campaigns.records import Record, interval_text

_CLASSES = {
    **dict.fromkeys(("fails", "fails-all", "unsafe"), 0),
    "fails-some": 1,
    "crash": 2,
    **dict.fromkeys(("costly", "costly-best", "costly-some"), 3),
}
_OTHER = 4  # unclassified: the run was cut, and had already spent more than a plan costs

_FAILS = {
    "loop": "the policy runs in a loop",
    "stuck": "the policy stops",
    "inapplicable": "the policy names an operator that does not apply",
    "error": "the policy crashes",
}


def severity(
    kind: str | None, low: int | None, high: int | None, upper: int | None
) -> tuple[float, ...]:
    """A key that sorts bugs, worst first, by gap or radius and by the cost of the best known plan. None is infinite."""
    least, most, plan = (math.inf if bound is None else bound for bound in (low, high, upper))
    of_kind = _CLASSES.get(kind or "", _OTHER)
    if kind == "unsafe":
        return of_kind, least, most
    if of_kind < 3:
        return of_kind, plan
    return of_kind, -least, -most


def severity_of(record: Record) -> tuple[float, ...]:
    low, high = record.gap or record.radius or (None, None)
    return severity(record.kind, low, high, (record.bounds or (None, None))[1])


def sentence(record: Record) -> str:
    """Describe the bug in one sentence without a full stop."""
    steps = counted(len(record.run.operators), "step")
    if record.kind == "unsafe":
        text = f"the policy gets into an unsafe state after {steps}, which {_avoided(record)}"
    elif record.kind == "crash":
        text = f"the policy crashes after {steps}"
    elif (record.kind or "").startswith("fails"):
        what = _FAILS.get(record.run.outcome, "the policy does not reach the goal")
        text = f"{what} after {steps}, where {_plan(record, 'a plan of cost {} reaches the goal')}"
    elif record.run.outcome != "goal":
        spent = "too much" if record.run.cost is None else str(record.run.cost)
        text = f"the policy has spent {spent} after {steps} without reaching the goal, where {_plan(record)}"
    else:
        text = f"the policy spends {record.run.cost}, where {_plan(record)}"
    return text if record.family is None else f"{text} ({record.family})"


def _plan(record: Record, words: str = "{} is enough") -> str:
    upper = None if record.bounds is None else record.bounds[1]
    if upper is None:
        return f"it loses {interval_text(record.gap or (None, None))}"
    return words.format(upper)


def _avoided(record: Record) -> str:
    if record.radius is None:
        return "can be avoided"
    radius = interval_text(record.radius)
    return f"{radius} deviation avoids" if radius == "1" else f"{radius} deviations avoid"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


__all__ = ["counted", "sentence", "severity", "severity_of"]
