"""Exact bugs and faults of a policy on a small task, over all reachable states.

The policy is run from every state and compared with the exact h*. The numbers are those of an exact oracle that tests
every state: `optimal` counts the states where nothing better exists, including those without any plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import StateSpace
from misstep.errors import UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, TIMED_OUT, Policy
from misstep.ranges import check_limits
from misstep.runs.again import require_declared, require_function
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner
from misstep.safety.census import SafetyCensus, safety_census
from misstep.tasks.census import DEFAULT_MAX_STATES, Census, state_space
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

FIRST = "first"  # the policy of a model where none is given: its space does not depend on it


@dataclass(frozen=True)
class PolicyCensus:
    """Counts over the reachable states that are not goals."""

    of_task: Census
    states: int
    solved: int  # the policy reaches the goal
    bugs: int
    fails: int  # bugs where it does not, although the goal can be reached
    costly: int  # bugs where it does, at more than the least cost
    optimal: int  # nothing better exists
    errors: int  # the policy crashed on the way, so nobody knows
    timeouts: int  # it gave no answer in time on the way, so nobody knows
    total_gap: int  # over the costly ones
    faults: int  # decisions that lose something: cost + h*(successor) > h*(state)

    def as_dict(self) -> dict[str, Any]:
        """The numbers of the policy; those of the task have their own `as_dict`."""
        own = asdict(self)
        del own["of_task"]
        return own


def census(
    task: Any,
    policy: Any = None,
    *,
    inapplicable: str | None = None,
    max_states: int | None = DEFAULT_MAX_STATES,
    time_limit: float | None = None,
    memory_limit_mb: int | None = None,
    progress: Callable[..., None] | None = None,
) -> Census | PolicyCensus | SafetyCensus:
    """Count the whole reachable state space of a small task or model.

    `task` is anything that `load_task` takes, and `policy` anything that `load_policy` takes. For a planning task, the
    result has states, dead ends and distances (`Census`), and with a policy also its bugs and faults over all states
    (`PolicyCensus`). For a model, it has safe and unsafe states, and the bugs and faults of the policy (default:
    `first`) (`SafetyCensus`); `inapplicable` is as in `load_policy`. Reaching a limit raises an error, and so does a
    policy that is not a function of the state.
    """
    loaded = load_task(task)
    limits: dict[str, Any] = {
        "max_states": max_states,
        "time_limit": time_limit,
        "memory_limit_mb": memory_limit_mb,
    }
    check_limits(**limits)
    limits["progress"] = progress
    if isinstance(loaded, Task):
        if inapplicable is not None:
            raise UsageError("inapplicable is an option of models", where=loaded.name)
        began = monotonic()
        space = state_space(loaded, **limits)
        if policy is None:
            return Census.of(space)
        subject = load_policy(policy, loaded)
        try:
            return policy_census(subject, space, progress, time_limit, began)
        finally:
            if subject is not policy:
                subject.close()
    labels = load_policy(FIRST if policy is None else policy, loaded, inapplicable=inapplicable)
    try:
        return safety_census(loaded, labels, **limits)
    finally:
        if labels is not policy:
            labels.close()


def counted(
    name: str, policy: str | None, found: Census | PolicyCensus | SafetyCensus
) -> tuple[dict[str, Any], int]:
    """The numbers of a task with its name, and how many bugs the policy has that was asked for."""
    counts: dict[str, Any] = {"task": name}
    if isinstance(found, SafetyCensus):
        counts |= {"policy": policy or FIRST, **found.as_dict()}
        return counts, found.bugs if policy is not None else 0
    if isinstance(found, PolicyCensus):
        counts |= {**found.of_task.as_dict(), "policy": {"spec": policy, **found.as_dict()}}
        return counts, found.bugs
    return counts | found.as_dict(), 0


def policy_census(
    policy: Policy,
    space: StateSpace,
    progress: Callable[..., None] | None = None,
    time_limit: float | None = None,
    began: float | None = None,
) -> PolicyCensus:
    """Run the policy from every state of a state space and compare with h*.

    The time limit counts from a `monotonic` time, by default from now.
    """
    require_declared(policy.spec, policy.deterministic)
    runner = PolicyRunner(policy)
    began = monotonic() if began is None else began
    runner.limit(time_limit, began)
    # A new graph numbers the states as the space does, and no run leaves the space.
    states = space.states()
    ends = runner.run(states, None, progress)
    here = space.is_goal == 0
    said = runner.graph.decisions(ends.ids[here]).tolist()
    left = None if time_limit is None else max(0.0, time_limit - monotonic() + began)
    require_function(policy, states[here], said, seconds=left)
    h_star = space.h_star
    solvable = np.isfinite(h_star)
    outcome = {name: ends.outcomes == number for number, name in enumerate(OUTCOMES)}
    error = outcome["error"] & solvable & here
    late = outcome["timeout"] & solvable & here
    fails = ~outcome["goal"] & ~outcome["error"] & ~outcome["timeout"] & solvable & here
    costly = outcome["goal"] & (ends.costs > h_star) & here
    bugs = int(np.count_nonzero(fails)) + int(np.count_nonzero(costly))
    errors, timeouts = int(np.count_nonzero(error)), int(np.count_nonzero(late))
    count = int(np.count_nonzero(here))
    return PolicyCensus(
        of_task=Census.of(space),
        states=count,
        solved=int(np.count_nonzero(outcome["goal"] & here)),
        bugs=bugs,
        fails=int(np.count_nonzero(fails)),
        costly=int(np.count_nonzero(costly)),
        optimal=count - bugs - errors - timeouts,
        errors=errors,
        timeouts=timeouts,
        total_gap=int((ends.costs[costly] - h_star[costly]).sum()),
        faults=int(np.count_nonzero(_faults(runner, ends.ids, h_star) & solvable & here)),
    )


def _faults(
    runner: PolicyRunner, ids: NDArray[np.uint32], h_star: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The states where the policy's decision loses something; stopping in a solvable state is such a loss."""
    task = runner.task
    decisions = runner.graph.decisions(ids)
    successors = runner.graph.successors(ids)
    costs = np.array([task.cost(op) for op in range(task.operator_count)], dtype=np.float64)
    after = np.full(len(ids), np.inf)
    moves = successors >= 0
    after[moves] = costs[decisions[moves]] + h_star[successors[moves]]
    loses: NDArray[np.bool_] = (after > h_star) & (decisions != FAILED) & (decisions != TIMED_OUT)
    return loses


__all__ = ["FIRST", "PolicyCensus", "SafetyCensus", "census", "counted", "policy_census"]
