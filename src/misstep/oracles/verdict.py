"""Verdicts: what is known about a policy in a state, and the rule that makes one from bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from misstep.oracles.derivation import Derivation
from misstep.oracles.values import Cost, Interval, PolicyCost, cost_gap, goal_gap
from misstep.tasks.task import State
from misstep.verdicts import Effort, Kind, Status


class Objective(Enum):
    """What the policy is tested for: cheap plans, or reaching the goal at all."""

    COST = "cost"
    GOAL = "goal"


@dataclass(frozen=True)
class Verdict:
    """The answer for one state. The gap is how much the policy loses, in cost or, for goal-reaching, 0 or 1."""

    state: State
    objective: Objective
    policy_cost: PolicyCost
    status: Status
    kind: Kind | None  # of a bug
    gap: Interval
    lower_bound: Cost  # no plan is cheaper
    upper_bound: Cost  # what the witness or the derivation proves; infinite if there is neither
    witness: tuple[int, ...] | None  # the cheapest known plan, as operators
    derivation: Derivation | None = None  # the proof where no plan is cheap enough to be one
    oracle: str | None = None  # who found it; None: it was known before anybody was asked
    effort: Effort = field(default_factory=Effort, compare=False)
    limits: tuple[
        str, ...
    ] = ()  # those that ended an oracle before it was done, as "oracle: limit"
    problems: tuple[str, ...] = ()  # oracles that crashed, and why

    @property
    def is_bug(self) -> bool:
        return self.status is Status.BUG

    @property
    def is_decided(self) -> bool:
        return self.status is not Status.UNKNOWN


def judge(
    state: State,
    policy: PolicyCost,
    lower: Cost,
    upper: Cost,
    witness: tuple[int, ...] | None,
    objective: Objective = Objective.COST,
    derivation: Derivation | None = None,
) -> Verdict:
    """The verdict that follows from the policy's cost and the bounds on the cheapest plan.

    A bug needs a plan that is cheaper than the least the policy can have spent, or a derivation of such a bound;
    a lower bound never proves one. The
    policy is optimal if the gap can only be 0: its cost is known and not above the lower bound, or there is no plan.
    """
    gap = (cost_gap if objective is Objective.COST else goal_gap)(policy, lower, upper)
    kind = None
    if gap.low > 0:
        status = Status.BUG
        kind = {True: Kind.FAILS, False: Kind.COSTLY, None: Kind.UNCLASSIFIED}[policy.fails]
    else:
        status = Status.OPTIMAL if gap.high == 0 else Status.UNKNOWN
    if (witness is None and derivation is None) != math.isinf(upper):
        raise ValueError(f"the upper bound is {upper}, the plan {witness}")
    return Verdict(state, objective, policy, status, kind, gap, lower, upper, witness, derivation)


def is_fuzzing_bug(verdict: Verdict, reference: Verdict) -> bool | None:
    """Whether the state is a bug that the walk from the reference state has added; None if the gaps do not tell.

    These are the bugs relative to s0 of P22: gap(s) > gap(s0).
    """
    return verdict.gap.is_above(reference.gap)


__all__ = [
    "Effort",
    "Kind",
    "Objective",
    "Status",
    "Verdict",
    "is_fuzzing_bug",
    "judge",
]
