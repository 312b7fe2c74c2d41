"""The strategies that prove the bugs of a batch: one for all bugs that a decider has found."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
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
    """Collects the bugs of a batch, then adds the witness of each."""

    def __init__(self, checker: UnionChecker, radius: float) -> None:
        self.strategies: list[Packed] = []
        self._checker = checker
        self._radius = radius
        # A batch has one decider, and another one after the policy has failed.
        self._wanted: dict[Decider[Values, str], list[Values]] = {}
        self._better: dict[Values, int] = {}
        self._lost: set[Values] = set()  # bugs for which there is no witness

    def want(self, decider: Decider[Values, str], state: Values) -> None:
        self._wanted.setdefault(decider, []).append(state)

    def rest(self, judged: MutableMapping[Values, JudgedState], limits: list[str]) -> None:
        """Add the witnesses that are still missing; bugs without a valid witness become UNKNOWN."""
        for decider in list(self._wanted):
            self.settle(decider, judged, limits)

    def settle(
        self,
        decider: Decider[Values, str],
        judged: MutableMapping[Values, JudgedState],
        limits: list[str],
    ) -> None:
        """Add the witnesses for the bugs of one decider, which may be forgotten afterwards."""
        states = self._wanted.pop(decider, [])
        if not states:
            return
        began = perf_counter()
        try:
            union = self._checker.of_bugs(decider, states, self._radius)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            limits.append(f"states were left undecided, because the policy failed: {error.what}")
            self._leave_open(states, judged)
            return
        number = size = None
        if len(union) <= LARGEST_STRATEGY:
            number = len(self.strategies)
            self.strategies.append(union.packed())
        else:
            size = len(union)
        self._better.update((state, union.label(decider.system.id(state))) for state in states)
        seconds = (perf_counter() - began) / len(states)
        for state in states:
            own = judged[state]
            verdict = own.verdict._replace(size=size, seconds=own.verdict.seconds + seconds)
            # Not with `_replace`, which is several times slower.
            judged[state] = type(own)(own.state, own.run, own.step, verdict, own.fault, number)

    def _leave_open(
        self, states: list[Values], judged: MutableMapping[Values, JudgedState]
    ) -> None:
        self._lost.update(states)
        for state in states:
            own = judged[state]
            verdict = own.verdict._replace(
                verdict="UNKNOWN", kind=None, low=0, high=None, source=None
            )
            judged[state] = own._replace(verdict=verdict, fault=None)

    def blamed(self, faults: Iterable[FaultRow]) -> list[FaultRow]:
        """The faults of the batch, with the decision of the strategy as the better one."""
        return [
            fault._replace(better=self._better.get(fault.state, fault.better))
            for fault in faults
            if fault.state not in self._lost
        ]


__all__ = ["BatchWitnesses"]
