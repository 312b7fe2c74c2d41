"""Checks the faults of planning runs: whose decision they are, what they lose, and how they share the gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from misstep.checking.distances import Distances
from misstep.checking.gaps import Cost
from misstep.checking.report import CampaignReport
from misstep.checking.sas import SasTask, State
from misstep.checking.semantics import apply, is_applicable
from misstep.checking.stored import StoredFault, cost, integer, integers

if TYPE_CHECKING:
    from misstep.checking.planning_records import Followed


class PlanningFaults:
    def __init__(self, sas: SasTask, distances: Distances | None, report: CampaignReport) -> None:
        """`distances` are those of all states, if they are known."""
        self.sas, self.distances, self.report = sas, distances, report

    def problem(self, fault: StoredFault, run: Followed) -> str | None:
        if not 0 <= fault.step < len(run.states):
            return "the run has no such step"
        here = run.states[fault.step]
        if integers(fault.state, "the state") != list(here):
            return "the run is in another state there"
        last = fault.step == len(run.operators)
        if last and run.outcome not in ("stuck", "inapplicable", "error"):
            return f"the run ends there, and not by a decision: {run.outcome}"
        if fault.decision != (None if last else run.operators[fault.step]):
            return f"the policy's decision is another one than {fault.decision}"
        if fault.better is not None:
            better = integer(fault.better, "the better operator")
            if not 0 <= better < len(self.sas.operators):
                return f"the better operator {better} does not exist"
            if not is_applicable(here, self.sas.operators[better]):
                return f"the better operator ({self.sas.operators[better].name}) does not apply"
            if better == fault.decision:
                return "the better operator is the policy's own"
        low, high = cost(fault.low, "low"), cost(fault.high, "high")
        if low > high:
            return f"it loses {fault.low} to {fault.high}, which is not an interval"
        if fault.outcome is not None:
            return "it has an outcome, as only faults of models do"
        loop = run.outcome == "loop" and fault.step >= run.states.index(run.states[-1])
        if fault.recurring not in (None, int(loop)):
            return "it is said to come again" if fault.recurring else "it comes again in the loop"
        # In a loop that costs nothing, what is lost is steps.
        if low == 0 and not (high == 0 and loop and self._loop_cost(run) == 0):
            return "it is not said to lose anything"
        if problem := self._loss_problem(fault, here):
            return problem
        self.report.checked["faults"] += 1
        return None

    def _loop_cost(self, run: Followed) -> int:
        first = run.states.index(run.states[-1])
        return sum(self.sas.operators[own].cost for own in run.operators[first:])

    def shares_problem(self, faults: Sequence[StoredFault], run: Followed) -> str | None:
        """Checks which part of the gap each fault carries: it follows from the losses, which must all be known.

        A loss in every round of a loop outweighs one that happens once; in a loop that costs nothing, steps count."""
        shares = [fault.share for fault in faults if fault.share is not None]
        if not shares:
            return None
        if not all(isinstance(own, (int, float)) and 0 <= own <= 1 for own in shares):
            return f"they are {shares!r:.80}"
        losses = [(cost(own.low, "low"), cost(own.high, "high")) for own in faults]
        if len(shares) < len(faults) or any(low != high for low, high in losses):
            return "there are some, and not all losses are known"
        if problem := self._missing_problem({fault.step for fault in faults}, run):
            return problem
        weights: list[Cost] = [float(math.isinf(low)) for low, _ in losses]
        total: Cost = 1  # each fault that loses infinitely much carries all of the gap
        if not any(weights):
            found = self._weights(faults, run)
            if found is None:
                return None  # the losses are counted as not checked
            weights, total = found, sum(found)
        for fault, weight in zip(faults, weights, strict=True):
            share, expected = cast("float", fault.share), weight / total if total else -1
            if not abs(share - expected) <= 1e-9:
                return f"that of step {fault.step} is {share}, and the losses say otherwise"
        return None

    def _missing_problem(self, known: set[int], run: Followed) -> str | None:
        """Where the gap is shared, every decision that loses something has its part."""
        if self.distances is None:
            return None
        for step, (here, operator) in enumerate(zip(run.states, run.operators, strict=False)):
            best = self.distances.of(here)
            after = self.distances.of(run.states[step + 1])
            if step in known or best is None or after is None or math.isinf(best):
                continue
            if self.sas.operators[operator].cost + after > best:
                return f"the decision at step {step} loses something, and no fault says so"
        return None

    def _weights(self, faults: Sequence[StoredFault], run: Followed) -> list[Cost] | None:
        """The finite losses by which faults share the gap; None: not known."""
        if run.outcome != "loop":
            return [cost(fault.low, "low") for fault in faults]
        first = run.states.index(run.states[-1])
        if self._loop_cost(run) > 0:
            return [cost(own.low, "low") if own.step >= first else 0 for own in faults]
        weights: list[Cost] = []
        for fault in faults:
            here, there = (
                None if self.distances is None else self.distances.steps(run.states[step])
                for step in (fault.step, fault.step + 1)
            )
            if here is None or there is None:
                return None
            weights.append(1 + there - here if fault.step >= first else 0)
        return weights

    def _loss_problem(self, fault: StoredFault, here: State) -> str | None:
        """Checks how much a decision loses, and that the other one loses less, if the cheapest plans are known."""

        def through(decision: object) -> Cost | None:
            if decision is None or self.distances is None:
                return math.inf
            operator = self.sas.operators[integer(decision, "a decision")]
            rest = self.distances.of(apply(here, operator))
            return None if rest is None else operator.cost + rest

        best = None if self.distances is None else self.distances.of(here)
        own = through(fault.decision)
        if best is None or own is None:
            self.report.unproven("losses")
            return None
        loss = 0 if math.isinf(best) else own - best
        if not cost(fault.low, "low") <= loss <= cost(fault.high, "high"):
            return f"the decision loses {loss}, not {fault.low} to {fault.high}"
        other = None if fault.better is None else through(fault.better)
        if other is not None and other >= own and loss > 0:
            return "the better operator is no better"
        self.report.confirmed["losses"] += 1
        return None


__all__ = ["PlanningFaults"]
