"""Verdicts: what is known about a policy in a state, and the rule that makes one from bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from misstep.oracles.derivation import Derivation
from misstep.oracles.values import Cost, Interval, PolicyCost, cost_gap, goal_gap
from misstep.tasks.task import State
from misstep.verdicts import Effort, Kind, Objective, Status


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
    upper_bound: Cost  # the best that is proven, by derivation or plan; infinite: neither
    witness: tuple[int, ...] | None  # the cheapest known plan, as operators
    witness_cost: Cost  # of that plan: the upper bound, or more beside a derivation
    derivation: Derivation | None = None  # proves the upper bound where no known plan is as cheap
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

    @property
    def plan_proves_bug(self) -> bool:
        """Whether the plan alone proves the bug, perhaps with a smaller gap than the verdict has."""
        if not self.is_bug or self.witness is None:
            return False
        return self.objective is Objective.GOAL or self.witness_cost < self.policy_cost.lower_bound


def judge(
    state: State,
    policy: PolicyCost,
    lower: Cost,
    upper: Cost,
    witness: tuple[int, ...] | None,
    objective: Objective = Objective.COST,
    derivation: Derivation | None = None,
    witness_cost: Cost | None = None,
) -> Verdict:
    """The verdict that follows from the policy's cost and the bounds on the cheapest plan.

    A bug needs a plan that is cheaper than the least the policy can have spent, or a derivation of such a bound; a
    lower bound never proves one. The policy is optimal if the gap can only be 0: its cost is known and not above the
    lower bound, or there is no plan.

    `upper` is what the derivation proves if there is one, and else the cost of the plan, the witness. A plan beside a
    derivation costs `witness_cost`; if that is no more than `upper`, the derivation adds nothing and is dropped.
    """
    if witness_cost is None:
        witness_cost = math.inf if witness is None else upper
    if witness_cost <= upper:
        derivation = None
    if (witness is None) != math.isinf(witness_cost) or (
        derivation is None and witness_cost != upper
    ):
        raise ValueError(f"the upper bound is {upper}, the plan {witness}")
    gap = (cost_gap if objective is Objective.COST else goal_gap)(policy, lower, upper)
    kind = None
    if gap.low > 0:
        status = Status.BUG
        kind = policy.kind_of_bug(upper)
    else:
        status = Status.OPTIMAL if gap.high == 0 else Status.UNKNOWN
    return Verdict(
        state,
        objective,
        policy,
        status,
        kind,
        gap,
        lower,
        upper,
        witness,
        witness_cost,
        derivation,
    )


def is_fuzzing_bug(verdict: Verdict, reference: Verdict) -> bool | None:
    """Whether the gap is larger than in the reference state, where the walk began; None if this is not known.

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
