"""What a policy costs, as far as it is known, and what follows from that.

A run that reaches the goal has a cost, a run that provably never does costs infinitely much, and a run that was cut
short, or that the policy broke off by crashing, has an unknown cost. Treating the third like one of the others is how
false bugs are made, so it is a value of its own. All that is known of it is what was spent so far: both ways it could
go on cost at least as much. What follows from it are intervals. Comparing them has three answers; `None` is "cannot
be told" and must be asked for explicitly, as there is no `<` that could give a wrong one by accident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from misstep.runs.outcomes import PROVEN_FAILING

Cost = int | float  # a whole number, or math.inf


@dataclass(frozen=True)
class PolicyCost:
    """The cost of a policy's run: exact (infinite if it fails), or at least `lower_bound` and otherwise unknown."""

    lower_bound: Cost
    is_exact: bool = True

    def __post_init__(self) -> None:
        if self.lower_bound < 0 or (math.isinf(self.lower_bound) and not self.is_exact):
            raise ValueError(f"no cost of a policy: {self}")

    @property
    def reaches_goal(self) -> bool | None:
        return math.isfinite(self.lower_bound) if self.is_exact else None

    @property
    def fails(self) -> bool | None:
        return None if self.reaches_goal is None else not self.reaches_goal

    def __str__(self) -> str:
        if not self.is_exact:
            return f"at least {self.lower_bound}"
        return "fails" if self.fails else str(self.lower_bound)


FAILS = PolicyCost(math.inf)


def exact(cost: Cost) -> PolicyCost:
    return PolicyCost(cost)


def unknown(lower_bound: int = 0) -> PolicyCost:
    return PolicyCost(lower_bound, is_exact=False)


def cost_of_run(outcome: str, cost: int) -> PolicyCost:
    """From how a run ended and what it spent until then."""
    if outcome == "goal":
        return exact(cost)
    return FAILS if outcome in PROVEN_FAILING else unknown(cost)


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
        """Whether the one number is larger than the other; None if the intervals do not tell."""
        if self.low > other.high:
            return True
        return False if self.high <= other.low else None

    def __str__(self) -> str:
        return str(self.low) if self.is_exact else f"{self.low} to {self.high}"


NOTHING = Interval(0, 0)


def cost_gap(policy: PolicyCost, lower: Cost, upper: Cost) -> Interval:
    """How much more than necessary the policy spends, if the cheapest plan costs between `lower` and `upper`.

    An unsolvable state is nobody's fault: infinity minus infinity is 0 here.
    """
    if math.isinf(lower):
        return NOTHING
    low = 0 if math.isinf(upper) else max(0, policy.lower_bound - upper)
    high = max(0, policy.lower_bound - lower) if policy.is_exact else math.inf
    return Interval(low, high)


def goal_gap(policy: PolicyCost, lower: Cost, upper: Cost) -> Interval:
    """The same where reaching the goal is worth 1 and failing 0."""
    if math.isinf(lower) or policy.reaches_goal:
        return NOTHING
    return Interval(1 if policy.fails and math.isfinite(upper) else 0, 1)


__all__ = [
    "FAILS",
    "Cost",
    "Interval",
    "PolicyCost",
    "cost_gap",
    "cost_of_run",
    "exact",
    "goal_gap",
    "unknown",
]
