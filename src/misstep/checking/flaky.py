"""Verdicts FLAKY, and states in which a policy gave two answers.

FLAKY claims nothing about a state, so there is little to prove: the verdict must not claim anything beside it, and a
contradiction must lie on a run and begin with an answer that a run shows. That the policy gave the second answer
cannot be checked from files. Other verdicts must not rest on a run through a state with a contradiction, unless they
say that there is no plan, which no policy can change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from misstep.checking.report import CampaignReport
from misstep.checking.stored import StoredContradiction, StoredVerdict, integer
from misstep.errors import MisstepError

Decisions = Sequence[tuple[Hashable, object]]
"""The states of a run where the policy was asked, with its answers."""
STOPS = {"stuck": -1, "error": -2}
NO_OPERATOR = (*STOPS.values(), -4)  # -4: no answer in time


class Contradictions:
    """Where the policy of a task contradicts itself."""

    def __init__(
        self,
        rows: Sequence[StoredContradiction],
        read_state: Callable[[object], Hashable],
        operators: int,
        unbounded: tuple[int | None, int | None],
    ) -> None:
        """`operators` is the number of operators or labels, `unbounded` the bounds that claim nothing."""
        self.unbounded = unbounded
        self.first: dict[Hashable, int] = {}
        self.problems: list[str] = []
        seen: set[str] = set()  # as text: 0.0 is not -0.0
        for row in rows:
            try:
                state = read_state(row.state)
                answers = [integer(own, "an answer") for own in (row.first, row.second)]
                asked = integer(row.asked, "how often was asked")
            except MisstepError as error:
                self.problems.append(f"a contradiction: {error}")
                continue
            if answers[0] == answers[1] or asked < 2:
                self.problems.append("a contradiction of equal answers, or to one question")
            if answers[1] >= operators or (answers[1] < 0 and answers[1] not in NO_OPERATOR):
                self.problems.append(f"a contradiction by the answer {answers[1]}, which is none")
            if repr(state) in seen:
                self.problems.append(f"two contradictions in one state: {state}")
            seen.add(repr(state))
            self.first[state] = answers[0]

    def problem(
        self,
        verdict: StoredVerdict,
        decisions: Decisions,
        report: CampaignReport,
        *,
        counts: bool = True,
    ) -> str | None:
        """Checks a verdict that rests on a run; the run is given from the state of the verdict on. A verdict that
        does not count yet may rest on any run."""
        step = next((i for i, (state, _) in enumerate(decisions) if state in self.first), None)
        if verdict.verdict == "FLAKY":
            claims = (verdict.kind, verdict.plan, verdict.derivation, verdict.strategy)
            bounds = (verdict.low, verdict.high), (verdict.lower, verdict.upper)
            if any(own is not None for own in claims) or bounds != ((0, None), self.unbounded):
                return "the verdict is FLAKY and claims something all the same"
            report.checked["flaky verdicts"] += 1
            report.not_checked["flaky verdicts"] += step is None
            return None
        unsolvable = verdict.verdict == "OPTIMAL" and verdict.lower is None
        if step is None or unsolvable:
            return None
        if not counts:
            report.not_checked["verdicts that do not count"] += 1
            return None
        return (
            f"the policy contradicts itself at step {step} of the run, and the verdict is not FLAKY"
        )

    @staticmethod
    def mixed_problem(
        verdicts: Sequence[StoredVerdict], counts: Callable[[StoredVerdict], bool]
    ) -> str | None:
        """If one oracle's verdict is FLAKY, the others cannot rest on the same run, if they count."""
        if not any(own.verdict == "FLAKY" for own in verdicts):
            return None
        for own in verdicts:
            unsolvable = own.verdict == "OPTIMAL" and own.lower is None
            if own.verdict not in ("FLAKY", "UNKNOWN") and not unsolvable and counts(own):
                return f"oracle {own.oracle}: the verdict is {own.verdict}, and that of another oracle FLAKY"
        return None

    def left_over(self, runs: Iterator[Decisions]) -> Iterator[str]:
        """The errors in the contradictions themselves, given all runs."""
        yield from self.problems
        if not self.first:
            return
        left = set(self.first.items())
        for decisions in runs:
            left -= set(decisions)
        for state, _ in left:
            yield f"a contradiction whose first answer is on no run: {state}"


__all__ = ["STOPS", "Contradictions", "Decisions"]
