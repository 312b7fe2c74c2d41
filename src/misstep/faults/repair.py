"""The smallest repair: the fewest changed decisions with which the policy reaches the goal.

This is a search in which following the policy is free and any other operator counts as one deviation; among plans with
the fewest deviations it finds a cheapest one. The search is native (core/policygraph/repair.h) and returns when it
needs decisions of the policy. The deviations of the plan are a patch: if the policy is changed in these states, it
reaches the goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from misstep import _core
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State

DEFAULT_EXPANSIONS = 10_000


@dataclass(frozen=True)
class Deviation:
    """A decision to change. `policy_operator` is negative where the policy names none."""

    step: int
    state: State
    policy_operator: int
    operator: int


@dataclass(frozen=True)
class Repair:
    """The result of the search.

    `status` is "minimal" (a plan, proven to have the fewest deviations), "found" (a plan, before the budget ended),
    "impossible" (proven: no plan within the cost bound) or "limit". No plan has fewer than `lower_bound` deviations.
    """

    status: str
    operators: tuple[int, ...]
    cost: int | None
    deviations: tuple[Deviation, ...]
    lower_bound: int
    expansions: int


def smallest_repair(
    runner: PolicyRunner,
    state: State,
    *,
    cost_bound: int | None = None,
    max_expansions: int = DEFAULT_EXPANSIONS,
    lower_bound: Callable[[State], int | float] | None = None,
) -> Repair:
    """A plan from the state with the fewest deviations from the policy, of cost at most `cost_bound` if given.

    `lower_bound` is an admissible heuristic; it prunes dead ends and, with a cost bound, states that are too expensive.
    """
    search = _core.RepairSearch(
        runner.graph, state, cost_bound, max_expansions, DEFAULT_MAX_STEPS, lower_bound
    )
    while len(states := search.advance()):
        runner.run_ids(states, search.steps)
    status, operators, cost, deviations, fewest, expansions = search.result()
    return Repair(
        status,
        tuple(operators),
        cost,
        tuple(Deviation(*deviation) for deviation in deviations),
        fewest,
        expansions,
    )


__all__ = ["DEFAULT_EXPANSIONS", "Deviation", "Repair", "smallest_repair"]
