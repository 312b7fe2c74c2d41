"""Why states are UNKNOWN, and what would decide them.

"Unknown" alone reads like "fine". A user needs to know whether more effort would help, and which option allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from misstep.campaigns.confirmed import NOT_ASKED_AGAIN
from misstep.campaigns.rows import RunRow, VerdictRow

CUT = "cut at the step limit"
LATE = "without an answer in time"
NOT_CLOSED = "with more permitted runs than were explored"
NO_PLAN = "without a plan or a proof that there is none"
NOT_PROVEN = "neither improved nor proven optimal"
NOT_CONFIRMED = "decided, but the policy was not asked again yet"

SEARCH = "misstep judge DIR --oracle 'astar(evaluations=100000)' searches further"
HELPS = {
    CUT: "--max-steps N follows runs further",
    LATE: "--timeout S waits longer",
    NOT_CLOSED: "--permitted-limit N explores more",
    NO_PLAN: SEARCH,
    NOT_PROVEN: SEARCH,
    NOT_CONFIRMED: "misstep test --resume --out DIR asks it",
}


def reason_of(verdict: VerdictRow, run: RunRow) -> str:
    """Why the verdict on a run is UNKNOWN, if it is."""
    if verdict.source == NOT_ASKED_AGAIN:
        return NOT_CONFIRMED
    if run.outcome == "cut":
        return CUT
    if run.outcome == "timeout":
        return LATE
    if run.outcome != "goal":
        return NO_PLAN  # it fails, so any plan would prove a bug
    if run.permitted is not None and not run.permitted.closed:
        return NOT_CLOSED
    return NOT_PROVEN


def reasons(verdicts: Iterable[VerdictRow], runs: Mapping[int, RunRow]) -> Counter[str]:
    open_ones = (row for row in verdicts if row.verdict == "UNKNOWN" and row.number in runs)
    return Counter(reason_of(row, runs[row.number]) for row in open_ones)


def not_confirmed(verdicts: Iterable[VerdictRow]) -> Counter[str]:
    """The same reason alone: of a model the others are not told apart."""
    return Counter(NOT_CONFIRMED for row in verdicts if row.source == NOT_ASKED_AGAIN)


def text_of(left_open: Mapping[str, int], folder: str | None) -> str:
    """A text for people: how many states for which reason, and what would help."""
    counts = ", ".join(f"{count} {reason}" for reason, count in left_open.items())
    helps = dict.fromkeys(HELPS[reason] for reason in left_open)
    advice = "; ".join(helps).replace("DIR", folder or "DIR")
    return f"{counts}; {advice}"


__all__ = ["HELPS", "not_confirmed", "reasons", "text_of"]
