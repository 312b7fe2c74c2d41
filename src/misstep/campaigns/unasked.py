"""Verdicts that do not count yet, because the policy was not asked again about the runs that they rest on.

A verdict is stored when an oracle has found it, and the stage `confirm` asks the policy again afterwards. A campaign
that a limit, Ctrl-C or a crash ends in between has verdicts that nobody has confirmed: of a policy that is no function
of the state they may all be false. So whoever reads an unfinished campaign reads them as UNKNOWN, until `--resume` has
asked. Native policies are not asked again, and in a finished campaign nothing is left to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from misstep.campaigns.rows import RunRow, StateRow, VerdictRow
from misstep.campaigns.store import Store
from misstep.campaigns.tables import CONFIRM, Findings

ASKS = "asks"  # the key in `meta`


def note_asks(store: Store, asks: bool) -> None:
    """Store whether the policy of a campaign has to be asked again."""
    store.set_meta(ASKS, "1" if asks else "0")


@dataclass(frozen=True)
class Unasked:
    """What is known of a task in a campaign that is not finished."""

    asked: frozenset[int]  # runs about which the policy was asked again completely
    sampled: frozenset[int]  # runs of which one decision was
    held: set[int] = field(default_factory=set)  # numbers of states whose verdicts do not count yet

    def left(
        self, rows: Iterable[VerdictRow], states: Mapping[int, StateRow], runs: Mapping[int, RunRow]
    ) -> Iterator[VerdictRow]:
        """The verdicts, those that do not count yet as UNKNOWN."""
        for row in rows:
            state = states.get(row.number)
            run = None if state is None else runs.get(state.run)
            if run is not None and not self._counts(row, run):
                self.held.add(row.number)
                row = without_claims(row, "UNKNOWN")
            yield row

    def _counts(self, row: VerdictRow, run: RunRow) -> bool:
        if row.verdict in ("UNKNOWN", "FLAKY") or row.is_unsolvable:
            return True
        enough = self.asked if row.is_bug else self.asked | self.sampled
        return run.number in enough or not (run.operators or row.is_bug)


def read_unasked(findings: Findings) -> Unasked | None:
    """None if all verdicts of the task count."""
    store = findings.store
    meta = dict(store.rows("SELECT key, value FROM meta WHERE key IN ('finished', ?)", ASKS))
    # Campaigns of earlier versions do not say whether their policy has to be asked.
    if meta.get("finished") == "1" or meta.get(ASKS) != "1":
        return None
    asked, sampled = findings.marked("asked"), findings.marked("sampled")
    contradictions = len(findings.contradictions())
    if contradictions:
        # What is left was asked many times more, and all runs were compared with the contradictions that are known.
        asked &= findings.marked("asked often")
        done = findings.done(CONFIRM)
        ending = f", {contradictions} contradictions"
        if not any(key.startswith("weigh ") and key.endswith(ending) for key in done):
            asked, sampled = set(), set()
    return Unasked(frozenset(asked), frozenset(sampled))


def without_claims(row: VerdictRow, verdict: str) -> VerdictRow:
    """The row with another verdict, without everything that rested on the run; the effort stays."""
    if row.is_unsolvable:
        return row
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


__all__ = ["Unasked", "note_asks", "read_unasked", "without_claims"]
