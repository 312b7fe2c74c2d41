"""Which verdicts of a campaign count: those on runs that the policy was asked about again.

A campaign judges first and asks the policy again afterwards. If its work ends in between, verdicts are stored that
nobody reports, because the policy may contradict itself on their runs: every reader sees UNKNOWN in their place. So
they may rest on a run through a contradiction, and their runs need not agree with each other. What counts is read here
as the readers of a campaign do it, so that whatever is reported has to hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from misstep.checking.stored import Store, StoredVerdict


class Counting:
    """The verdicts of a task that count."""

    def __init__(self, store: Store, task: int) -> None:
        self._all = store.finished() or not store.asks()
        if self._all:
            return
        self._weighed = store.marked(task, "confirmed")
        self._of_bugs = self._weighed & store.marked(task, "asked")
        if store.contradictions(task):
            self._of_bugs &= store.marked(task, "asked often")

    def compared(self, run: object) -> bool:
        """Whether the run was compared with all others, so that they have the same answer in a state."""
        return self._all or run in self._weighed

    def counts(
        self, verdict: StoredVerdict, run: object, beside: Iterable[StoredVerdict] = ()
    ) -> bool:
        """Whether a verdict on a run is reported; `beside`: the verdicts of all oracles on the same state."""
        if self._all:
            return True
        if any(own.verdict == "FLAKY" for own in beside):
            return False
        if (
            verdict.verdict == "UNKNOWN"
        ):  # of a further oracle, on a run that was confirmed for another one
            return False
        return run in (self._of_bugs if verdict.verdict == "BUG" else self._weighed)


__all__ = ["Counting"]
