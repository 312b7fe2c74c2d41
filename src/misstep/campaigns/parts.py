"""Read the rows of records part by part, so that the first record is available early.

A part has the rows of some states, in the order of their numbers. The first part is small, so that it comes quickly;
each next one is larger, because every query has a fixed cost. Each part is a consistent snapshot of a campaign that
another process may be writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from misstep.campaigns.confirmed import Confirmed, read_confirmed, reported_verdicts
from misstep.campaigns.rows import FaultRow, RunRow, StateRow, VerdictRow, decoded
from misstep.campaigns.tables import Findings

FIRST = 100  # states of the first part
GROWTH = 4
LARGEST = 5000


class Part(NamedTuple):
    """Some states in order, with the runs, verdicts and faults that belong to them."""

    states: list[StateRow]
    runs: list[RunRow]
    verdicts: list[VerdictRow]
    faults: list[FaultRow]
    blamed: set[int]


def read_parts(findings: Findings) -> Iterator[Part]:
    """Read all states; they are one part if the store keeps its rows in memory."""
    store = findings.store
    if store.kept_rows is not None:
        with store.snapshot():
            states = findings.states()
            verdicts = reported_verdicts(findings, states)
            blamed = findings.marked("blamed")
            part = Part(states, findings.runs(), verdicts, findings.faults(), blamed)
        yield part
        return
    first, size, blamed = 0, FIRST, set[int]()
    confirmed: Confirmed | None = None
    version: tuple[int, int] | None = None
    while True:
        with store.snapshot():
            # The marks of all states are read once, and again only if something was written meanwhile.
            if store.version != version:
                version, blamed = store.version, findings.marked("blamed")
                confirmed = read_confirmed(findings)
            part = _reported(_between(findings, first, first + size - 1, blamed), confirmed)
        if not part.states:
            return
        yield part
        first, size = first + size, min(GROWTH * size, LARGEST)


def read_alone(findings: Findings, number: int) -> Part:
    """Read one state, the states of its walk, and the state it was found from with its verdicts."""
    last = _between(findings, number, number, findings.marked("blamed"))
    before: list[StateRow] = []
    verdicts = list(last.verdicts)
    reference = last.states[0].reference if last.states else None
    if reference is not None:
        verdicts += _rows(findings, VerdictRow.decoded, "verdicts", "number", reference, reference)
    while reference is not None:
        # This ends, because a state only refers to earlier ones.
        found: list[StateRow]
        found = _rows(findings, StateRow.decoded, "states", "number", reference, reference)
        before += found
        reference = found[0].reference if found else None
    part = last._replace(states=[*reversed(before), *last.states], verdicts=verdicts)
    return _reported(part, read_confirmed(findings))


def _reported(part: Part, confirmed: Confirmed | None) -> Part:
    if confirmed is None:
        return part
    states = {state.number: state for state in part.states}
    return part._replace(verdicts=confirmed.reported(part.verdicts, states))


def _between(findings: Findings, first: int, last: int, blamed: set[int]) -> Part:
    states: list[StateRow] = _rows(findings, StateRow.decoded, "states", "number", first, last)
    if not states:
        return Part([], [], [], [], set())
    numbers = [state.run for state in states]
    ends = (min(numbers), max(numbers))
    return Part(
        states,
        _rows(findings, RunRow.decoded, "runs", "number", *ends),
        _rows(findings, VerdictRow.decoded, "verdicts", "number", first, last, "number, rowid"),
        _rows(findings, FaultRow.decoded, "faults", "run", *ends, "run, step"),
        blamed,
    )


def _rows(
    findings: Findings,
    decode: Callable[[Sequence[Any]], Any],
    table: str,
    column: str,
    first: int,
    last: int,
    order: str | None = None,
) -> list[Any]:
    where = findings.store.path
    within = (column, first, last)
    return findings.store.read_range(
        table,
        findings.task,
        order or column,
        lambda row: decoded(decode, row[1:], where),
        within,
    )


__all__ = ["Part", "read_alone", "read_parts"]
