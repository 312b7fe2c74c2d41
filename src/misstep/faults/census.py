"""The whole truth about a policy on a small task: its bugs and faults over all reachable states.

Every state is run and compared with the exact h*, so nothing is estimated and nothing left out. The numbers are those
that an exact oracle finds if it tests every state: `optimal` are the states where nothing better exists, also
those without any plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import StateSpace
from misstep.policies.policy import FAILED, Policy
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner


@dataclass(frozen=True)
class PolicyCensus:
    """Counts over the reachable states that are not goals."""

    states: int
    solved: int  # the policy reaches the goal
    bugs: int
    fails: int  # bugs where it does not, although the goal can be reached
    costly: int  # bugs where it does, at more than the least cost
    optimal: int  # nothing better exists
    errors: int  # the policy gave no answer on the way, so nobody knows
    total_gap: int  # over the costly ones
    faults: int  # decisions that lose something: cost + h*(successor) > h*(state)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def policy_census(
    policy: Policy, space: StateSpace, progress: Callable[..., None] | None = None
) -> PolicyCensus:
    """Run the policy from every state of a whole state space and compare."""
    runner = PolicyRunner(policy)
    # A new graph numbers the states as the space does, and no run leaves the space.
    ends = runner.run(space.states(), None, progress)
    here = space.is_goal == 0
    h_star = space.h_star
    solvable = np.isfinite(h_star)
    outcome = {name: ends.outcomes == number for number, name in enumerate(OUTCOMES)}
    error = outcome["error"] & solvable & here
    fails = ~outcome["goal"] & ~outcome["error"] & solvable & here
    costly = outcome["goal"] & (ends.costs > h_star) & here
    bugs = int(np.count_nonzero(fails)) + int(np.count_nonzero(costly))
    errors = int(np.count_nonzero(error))
    states = int(np.count_nonzero(here))
    return PolicyCensus(
        states=states,
        solved=int(np.count_nonzero(outcome["goal"] & here)),
        bugs=bugs,
        fails=int(np.count_nonzero(fails)),
        costly=int(np.count_nonzero(costly)),
        optimal=states - bugs - errors,
        errors=errors,
        total_gap=int((ends.costs[costly] - h_star[costly]).sum()),
        faults=int(np.count_nonzero(_faults(runner, ends.ids, h_star) & solvable & here)),
    )


def _faults(
    runner: PolicyRunner, ids: NDArray[np.uint32], h_star: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Where the policy's decision loses something; to stop in a solvable state loses everything."""
    task = runner.task
    decisions = runner.graph.decisions(ids)
    successors = runner.graph.successors(ids)
    costs = np.array([task.cost(op) for op in range(task.operator_count)], dtype=np.float64)
    after = np.full(len(ids), np.inf)
    moves = successors >= 0
    after[moves] = costs[decisions[moves]] + h_star[successors[moves]]
    loses: NDArray[np.bool_] = (after > h_star) & (decisions != FAILED)
    return loses


__all__ = ["PolicyCensus", "policy_census"]
