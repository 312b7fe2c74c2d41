"""Compute gap, verdict and kind of a bug from a policy's run and bounds on the cheapest plan.

A run that reaches the goal costs what it costs. A run that ends in a loop, gets stuck, names an operator that does not
apply or crashes costs infinitely much. A run that was cut has an unknown cost, which is at least what was spent, and
nothing follows from a run that ended because no answer came in time. The gap of a state without any plan is 0.

For a set-valued policy the run is one of many. If it fails, some permitted run fails. Otherwise the cost of the policy
is that of its cheapest permitted run, or of the most expensive one if the settings say so, as far as it is known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from misstep.checking.run import FAILURES

Cost = int | float  # a whole number, or infinity


class Conclusion(NamedTuple):
    low: Cost  # the gap lies between these
    high: Cost
    verdict: str
    kind: str | None


class Claim(NamedTuple):
    """The claims about all permitted runs of a set-valued policy; infinite numbers are infinite here."""

    closed: bool  # all of them are known
    least: Cost  # none is cheaper
    most: Cost  # the most expensive, if all of them are known to reach the goal
    costly_some: bool  # whether the most expensive one counts

    def run_problem(self, outcome: str, spent: int) -> str | None:
        """Checks that a run of this outcome and cost may be one of them."""
        if outcome in FAILURES and not math.isinf(self.most):
            return "it fails, and all permitted runs are said to reach the goal"
        if outcome == "goal" and not self.least <= spent <= self.most:
            return f"it costs {spent}, and permitted runs {self.least} to {self.most}"
        return None


class Spent(NamedTuple):
    """The cost of a policy, exact or as a lower bound, and the name of the resulting kind of bug."""

    least: Cost
    exact: bool
    kind: str


def spent_by_run(outcome: str, spent: int) -> Spent:
    if outcome in FAILURES:
        return Spent(math.inf, True, "crash" if outcome == "error" else "fails")
    if outcome == "goal":
        return Spent(spent, True, "costly")
    return Spent(0 if outcome == "timeout" else spent, False, "unclassified")


def spent_by_set(outcome: str, spent: int, claim: Claim, upper: Cost) -> Spent:
    if outcome == "error":
        return Spent(math.inf, True, "crash")
    if outcome in FAILURES:
        none = claim.closed and math.isinf(claim.least)
        return Spent(math.inf, True, "fails-all" if none else "fails-some")
    if outcome == "timeout" or math.isinf(claim.least):
        return Spent(0, False, "unclassified")
    known = outcome == "goal" and claim.closed and not math.isinf(claim.most)
    if not claim.costly_some or upper < claim.least:
        kind = "costly-best"
    else:
        kind = "costly-some" if outcome == "goal" else "unclassified"
    if known:
        return Spent(claim.most if claim.costly_some else claim.least, True, kind)
    return Spent(max(spent, claim.least) if claim.costly_some else claim.least, False, kind)


def concluded(
    outcome: str, spent: int, lower: Cost, upper: Cost, objective: str, claim: Claim | None = None
) -> Conclusion:
    if claim is None:
        least, exact, kind = spent_by_run(outcome, spent)
    else:
        least, exact, kind = spent_by_set(outcome, spent, claim, upper)
    fails, reaches = exact and math.isinf(least), exact and not math.isinf(least)
    low: Cost
    high: Cost
    if math.isinf(lower):
        low = high = 0
    elif objective == "cost":
        low = 0 if math.isinf(upper) else max(0, least - upper)
        high = max(0, least - lower) if fails or reaches else math.inf
    else:
        low = 1 if fails and not math.isinf(upper) else 0
        high = 0 if reaches else 1
    if low > 0:
        return Conclusion(low, high, "BUG", kind)
    return Conclusion(low, high, "OPTIMAL" if high == 0 else "UNKNOWN", None)


__all__ = ["Claim", "Conclusion", "Cost", "concluded"]
