"""Compares the risks that a campaign claims for states of a model with those that the checker computes itself.

The least risk follows from the model alone. The policy's own risk follows from its decisions, which are stored for all
states that it can reach, unless there are too many; decisions in stored runs must agree with them.
"""

from __future__ import annotations

from collections.abc import Container, Hashable

from misstep.checking.errors import CheckError
from misstep.checking.flaky import Decisions
from misstep.checking.jani import SafetyTask, State
from misstep.checking.model_risk import (
    FULL_LIMIT,
    LIMIT,
    Interval,
    Risks,
    TooLargeError,
    least_risks,
    policy_risks,
)
from misstep.checking.report import CampaignReport
from misstep.checking.stored import Store, StoredTask, loaded

NOTHING = (0.0, 1.0)  # an interval that says nothing


class ModelRiskRecords:
    def __init__(
        self,
        store: Store,
        stored: StoredTask,
        task: SafetyTask,
        contradicted: Container[Hashable],
        report: CampaignReport,
    ) -> None:
        self._task = task
        self._report = report
        self._contradicted = contradicted  # states with two answers
        self._claims = store.risks(stored.id)
        self._stored = store.decisions(stored.id) if self._claims else []
        self._decisions: dict[State, int | None] | None = None
        limit = FULL_LIMIT if report.full else LIMIT
        self._least = least_risks(task, limit)
        self._limit = limit
        self._own: Risks | None = None

    def problem(self, number: int, state: State, passed: Decisions) -> str | None:
        """The error in the risks of a state; `passed`: decisions of its run."""
        claim = self._claims.get(number)
        if claim is None:
            return None
        low, high, least_low, least_high = claim
        own, least = _interval(low, high), _interval(least_low, least_high)
        if isinstance(own, str) or isinstance(least, str):
            return own if isinstance(own, str) else str(least)
        problem = None if own == NOTHING else self._own_problem(state, own, passed)
        return problem or self._held(self._least, state, least, "the least possible")

    def _own_problem(self, state: State, claim: Interval, passed: Decisions) -> str | None:
        decisions = self._known()
        for here, label in passed:
            known = decisions.get(here, label) if isinstance(here, tuple) else label
            if isinstance(label, int) and label >= 0 and known != label:
                return "the policy is said to do otherwise than in its run"
        if self._own is None:
            self._own = policy_risks(self._task, decisions, self._limit, self._contradicted)
        return self._held(self._own, state, claim, "the policy's own")

    def unseen(self, shown: Container[State]) -> int:
        """The number of stored decisions that were used, and that no run shows."""
        return sum(state not in shown for state in self._decisions or ())

    def _held(self, risks: Risks, state: State, claim: Interval, which: str) -> str | None:
        if claim == NOTHING:
            return None
        try:
            problem = risks.problem(state, claim)
        except TooLargeError:
            self._report.unproven("risks")
            return None
        if problem is not None:
            return f"{which}: {problem}"
        self._report.checked["risks"] += 1
        return None

    def _known(self) -> dict[State, int | None]:
        if self._decisions is None:
            self._decisions = {}
            seen: set[str] = set()  # as text: 0.0 is not -0.0
            for text, label in self._stored:
                state = self._task.read_state(loaded(text, "the state of a decision"))
                if label is not None and (
                    not isinstance(label, int) or not 0 <= label < len(self._task.labels)
                ):
                    raise CheckError(f"a decision is {label!r}, which is not a label")
                if repr(state) in seen:
                    raise CheckError("a state has two decisions")
                seen.add(repr(state))
                self._decisions[state] = label
        return self._decisions


def _interval(low: object, high: object) -> Interval | str:
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and 0 <= low <= high <= 1:
        return float(low), float(high)
    return f"{low!r} to {high!r} are not probabilities"


__all__ = ["ModelRiskRecords"]
