"""The cost of a policy, as far as it is known, and its consequences.

A run that reaches the goal has a cost, a run that provably never does has infinite cost, and a run that was cut has an
unknown cost. Treating the third case like one of the others would give false bugs, so it has its own value. It is only
known that the run costs at least what it has spent so far. The consequences are intervals. Comparing two of them has
three answers; `None` means "not known". There is no operator `<`, so that this case cannot be overlooked. If a run
ended because the policy did not answer in time, not even what it has spent counts: nothing follows from it.

The cost of a set-valued policy is that of its cheapest permitted run, or of the most expensive one if `costly-some`
bugs are wanted, and infinite if some permitted run fails. See `misstep.runs.permitted`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from misstep.runs.outcomes import PROVEN_FAILING
from misstep.runs.permitted import PermittedRuns
from misstep.verdicts import Kind

Cost = int | float  # a whole number, or math.inf


@dataclass(frozen=True)
class PolicyCost:
    """The cost of a policy's run: exact (infinite if it fails), or at least `lower_bound` and otherwise unknown."""

    lower_bound: Cost
    is_exact: bool = True
    kind: Kind | None = None  # of a bug that comes of it; None: as the outcome says
    best: Cost | None = None  # of a set-valued policy: no permitted run is cheaper

    def __post_init__(self) -> None:
        if self.lower_bound < 0 or (math.isinf(self.lower_bound) and not self.is_exact):
            raise ValueError(f"no cost of a policy: {self}")

    @property
    def reaches_goal(self) -> bool | None:
        return math.isfinite(self.lower_bound) if self.is_exact else None

    @property
    def fails(self) -> bool | None:
        return None if self.reaches_goal is None else not self.reaches_goal

    def kind_of_bug(self, plan: Cost) -> Kind:
        """The kind of a bug that a plan of at most this cost proves."""
        if self.best is not None and plan < self.best:
            return Kind.COSTLY_BEST
        if self.kind is not None:
            return self.kind
        return {True: Kind.FAILS, False: Kind.COSTLY, None: Kind.UNCLASSIFIED}[self.fails]

    def __str__(self) -> str:
        if not self.is_exact:
            return f"at least {self.lower_bound}"
        return "fails" if self.fails else str(self.lower_bound)


FAILS = PolicyCost(math.inf)
CRASHES = PolicyCost(math.inf, kind=Kind.CRASH)


def exact(cost: Cost) -> PolicyCost:
    return PolicyCost(cost)


def unknown(lower_bound: int = 0) -> PolicyCost:
    return PolicyCost(lower_bound, is_exact=False)


def cost_of_run(outcome: str, cost: int) -> PolicyCost:
    """From how a run ended and what it spent until then."""
    if outcome == "goal":
        return exact(cost)
    if outcome == "error":
        return CRASHES
    if outcome in PROVEN_FAILING:
        return FAILS
    return unknown(0 if outcome == "timeout" else cost)


def cost_of_permitted(
    outcome: str, cost: int, runs: PermittedRuns, *, costly_some: bool = False
) -> PolicyCost:
    """Of a set-valued policy: from the run of its chooser, and from what is known of all permitted runs."""
    if outcome == "error":
        return CRASHES
    if outcome in PROVEN_FAILING:
        some_reach = not runs.closed or runs.least is not None
        return PolicyCost(math.inf, kind=Kind.FAILS_SOME if some_reach else Kind.FAILS_ALL)
    if outcome == "timeout" or runs.least is None:
        return unknown()
    if outcome == "goal" and runs.closed and runs.most is not None:
        kind = Kind.COSTLY_SOME if costly_some else Kind.COSTLY_BEST
        return PolicyCost(runs.most if costly_some else runs.least, kind=kind, best=runs.least)
    if not costly_some:
        return PolicyCost(runs.least, False, Kind.COSTLY_BEST, runs.least)
    # The chooser's run is one that is permitted, and so far it has cost that much.
    kind = Kind.COSTLY_SOME if outcome == "goal" else Kind.UNCLASSIFIED
    return PolicyCost(max(cost, runs.least), False, kind, runs.least)


@dataclass(frozen=True)
class Interval:
    """A number that is known to lie between two others, both included; `high` may be infinite."""

    low: Cost
    high: Cost

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"no interval: {self}")

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def __contains__(self, value: Cost) -> bool:
        return self.low <= value <= self.high

    def is_above(self, other: Interval) -> bool | None:
        """Whether this number is larger than the other; None if the intervals overlap."""
        if self.low > other.high:
            return True
        return False if self.high <= other.low else None

    def __str__(self) -> str:
        return str(self.low) if self.is_exact else f"{self.low} to {self.high}"


NOTHING = Interval(0, 0)


def cost_gap(policy: PolicyCost, lower: Cost, upper: Cost) -> Interval:
    """How much more than necessary the policy spends, if the cheapest plan costs between `lower` and `upper`.

    On an unsolvable state the policy loses nothing: infinity minus infinity is 0 here.
    """
    if math.isinf(lower):
        return NOTHING
    low = 0 if math.isinf(upper) else max(0, policy.lower_bound - upper)
    high = max(0, policy.lower_bound - lower) if policy.is_exact else math.inf
    return Interval(low, high)


def goal_gap(policy: PolicyCost, lower: Cost, upper: Cost) -> Interval:
    """The gap if only reaching the goal counts: 1 if the policy fails although a plan exists, else 0."""
    if math.isinf(lower) or policy.reaches_goal:
        return NOTHING
    return Interval(1 if policy.fails and math.isfinite(upper) else 0, 1)


__all__ = [
    "CRASHES",
    "FAILS",
    "Cost",
    "Interval",
    "PolicyCost",
    "cost_gap",
    "cost_of_permitted",
    "cost_of_run",
    "exact",
    "goal_gap",
    "unknown",
]
