"""The strategies that the bugs of a batch rest on: one for all that a decider has found."""

from __future__ import annotations

from collections.abc import MutableMapping
from time import perf_counter
from typing import TYPE_CHECKING

from misstep.campaigns.rows import FaultRow, Values
from misstep.checking.shared import LARGEST_STRATEGY
from misstep.errors import PolicyCrashError, PolicyTimeoutError
from misstep.safety.decider import Decider
from misstep.safety.shared import Packed, UnionChecker

if TYPE_CHECKING:
    from misstep.campaigns.models.work import JudgedState


class BatchWitnesses:
    """Collects the bugs of a batch, and then gives each of them its witness."""

    def __init__(self, checker: UnionChecker, radius: float) -> None:
        self.strategies: list[Packed] = []
        self._checker = checker
        self._radius = radius
        # A batch has one decider, and another one after the policy has failed.
        self._wanted: dict[Decider[Values, str], list[Values]] = {}

    def want(self, decider: Decider[Values, str], state: Values) -> None:
        self._wanted.setdefault(decider, []).append(state)

    def rest(
        self, judged: MutableMapping[Values, JudgedState], faults: list[FaultRow], limits: list[str]
    ) -> None:
        """No bug without a witness that holds. What would have been better is what the strategy does there."""
        for decider, states in self._wanted.items():
            began = perf_counter()
            try:
                union = self._checker.of_bugs(decider, states, self._radius)
            except (PolicyCrashError, PolicyTimeoutError) as error:
                limits.append(f"states were left open, as the policy failed: {error.what}")
                self._leave_open(states, judged, faults)
                continue
            number = size = None
            if len(union) <= LARGEST_STRATEGY:
                number = len(self.strategies)
                self.strategies.append(union.packed())
            else:
                size = len(union)
            better = {state: union.label(decider.system.id(state)) for state in states}
            seconds = (perf_counter() - began) / len(states)
            for state in states:
                own = judged[state]
                verdict = own.verdict._replace(size=size, seconds=own.verdict.seconds + seconds)
                judged[state] = own._replace(verdict=verdict, strategy=number)
            for place, fault in enumerate(faults):
                if fault.state in better:
                    faults[place] = fault._replace(better=better[fault.state])

    @staticmethod
    def _leave_open(
        states: list[Values], judged: MutableMapping[Values, JudgedState], faults: list[FaultRow]
    ) -> None:
        for state in states:
            own = judged[state]
            verdict = own.verdict._replace(
                verdict="UNKNOWN", kind=None, low=0, high=None, source=None
            )
            judged[state] = own._replace(verdict=verdict, fault=None)
        lost = set(states)
        faults[:] = [fault for fault in faults if fault.state not in lost]


__all__ = ["BatchWitnesses"]
