"""What verdicts on planning tasks and on models have in common: status, kind of the bug, and effort."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Objective(Enum):
    """What the policy is tested for: cheap plans, or reaching the goal at all."""

    COST = "cost"
    GOAL = "goal"


class Status(Enum):
    BUG = "bug"  # proven: a witness shows that the policy could do better
    OPTIMAL = "optimal"  # planning, proven: nothing is better
    NOT_A_BUG = "not a bug"  # models, proven: the policy is safe, or no strategy is
    UNKNOWN = "unknown"
    FLAKY = "flaky"  # the policy contradicts itself on its run, so the state gets no verdict


class Kind(Enum):
    """The kind of a bug."""

    FAILS = "fails"  # the goal can be reached, and the policy does not reach it
    COSTLY = "costly"  # the policy reaches the goal, and a cheaper plan exists
    CRASH = "crash"  # the goal can be reached, and the policy raises or answers nonsense on the way
    # Of set-valued policies:
    FAILS_ALL = "fails-all"  # no permitted run reaches the goal
    FAILS_SOME = "fails-some"  # a permitted run gets stuck or loops for ever
    COSTLY_BEST = "costly-best"  # a plan is cheaper than every permitted run
    COSTLY_SOME = "costly-some"  # a plan is cheaper than some permitted run
    # The policy's run was cut after it had spent more than a plan costs: it either fails or is costly.
    UNCLASSIFIED = "unclassified"
    UNSAFE = "unsafe"  # the policy may get into an unsafe state, and a strategy would not


@dataclass(frozen=True)
class Effort:
    """The effort that was spent. Seconds are only for information; limits use the other counts."""

    seconds: float = 0.0
    expansions: int = 0
    evaluations: int = 0
    policy_calls: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.seconds + other.seconds,
            self.expansions + other.expansions,
            self.evaluations + other.evaluations,
            self.policy_calls + other.policy_calls,
        )


__all__ = ["Effort", "Kind", "Objective", "Status"]
