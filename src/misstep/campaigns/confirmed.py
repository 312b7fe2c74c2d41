"""Which verdicts may be reported: those on runs that the policy was asked about again.

A campaign judges first and asks the policy again afterwards (confirm.py). If a limit, Ctrl-C or a kill ends the work in
between, verdicts are stored that rest on runs of a policy that may be flaky. Nobody may take these for bugs, so all
readers see UNKNOWN in their place until the campaign was continued. The stored rows stay as they are.

A run is marked as confirmed when it was weighed after it was asked about. A new contradiction may concern any run, so
it deletes all marks until the runs are weighed again. Of a bug every decision must have been asked again, and many
times if the policy contradicts itself anywhere on the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from misstep.campaigns.rows import FaultRow, StateRow, VerdictRow
from misstep.campaigns.store import Store
from misstep.campaigns.tables import CONFIRMED, Findings

# Marks of runs, among the units.
ASKED = "asked"  # about every decision
SAMPLED = "sampled"  # about one decision
ASKED_OFTEN = "asked often"
NOT_ASKED_AGAIN = "not asked again"  # the source of a verdict that is withheld for this reason
RUN_NOT_ASKED_AGAIN = "open, not asked again"  # of one that is UNKNOWN all the same
_ASKS = "asks"


def note_asking(store: Store, asks: bool) -> None:
    """Store whether the policy of the campaign has to be asked again."""
    store.set_meta(_ASKS, str(int(asks)))


class Confirmed(NamedTuple):
    """The runs of a task on which a bug, or another verdict, may rest."""

    of_bugs: frozenset[int]
    of_others: frozenset[int]

    def reported(
        self, rows: Iterable[VerdictRow], states: Mapping[int, StateRow]
    ) -> list[VerdictRow]:
        rows = list(rows)
        # Maybe by another oracle's verdict.
        flaky = {row.number for row in rows if row.verdict == "FLAKY"}
        return [self._reported(row, states.get(row.number), row.number in flaky) for row in rows]

    def _reported(self, row: VerdictRow, state: StateRow | None, flaky: bool) -> VerdictRow:
        if state is None or row.is_unsolvable or row.verdict == "FLAKY":
            return row
        if not flaky and state.run in (self.of_bugs if row.is_bug else self.of_others):
            return row
        if row.verdict == "UNKNOWN":
            return row._replace(source=RUN_NOT_ASKED_AGAIN)
        return withdrawn(row, "UNKNOWN")._replace(source=NOT_ASKED_AGAIN)


def read_confirmed(findings: Findings) -> Confirmed | None:
    """None if every verdict may be reported, as in a finished campaign and for a native policy."""
    query = "SELECT key, value FROM meta WHERE key IN ('finished', ?)"
    known = dict(findings.store.rows(query, _ASKS))
    if known.get("finished") == "1" or known.get(_ASKS) != "1":
        return None
    weighed = findings.marked(CONFIRMED)
    bugs = weighed & findings.marked(ASKED)
    if findings.contradictions():
        bugs &= findings.marked(ASKED_OFTEN)
    return Confirmed(frozenset(bugs), frozenset(weighed))


def reported_verdicts(findings: Findings, states: Iterable[StateRow]) -> list[VerdictRow]:
    """All verdicts of a task, as they may be reported."""
    confirmed, rows = read_confirmed(findings), findings.verdicts()
    if confirmed is None:
        return rows
    return confirmed.reported(rows, {state.number: state for state in states})


def reported_faults(findings: Findings) -> list[FaultRow]:
    """The faults of a task on runs of bugs that may be reported."""
    confirmed, rows = read_confirmed(findings), findings.faults()
    return rows if confirmed is None else [row for row in rows if row.run in confirmed.of_bugs]


def withdrawn(row: VerdictRow, verdict: str) -> VerdictRow:
    """The verdict without everything that rested on the run; the effort stays."""
    is_planning = row.upper is not None or row.lower is not None
    return row._replace(
        verdict=verdict,
        kind=None,
        low=0,
        high=None,
        lower=0 if is_planning else None,
        upper=None,
        source=None,
        plan=None,
        derivation=None,
        strategy=None,
        size=None,
    )


__all__ = [
    "ASKED",
    "ASKED_OFTEN",
    "NOT_ASKED_AGAIN",
    "RUN_NOT_ASKED_AGAIN",
    "SAMPLED",
    "Confirmed",
    "note_asking",
    "read_confirmed",
    "reported_faults",
    "reported_verdicts",
    "withdrawn",
]
