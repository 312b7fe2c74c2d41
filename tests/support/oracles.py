"""Policies on workbenches, and slow, obvious twins of what oracles do."""

from __future__ import annotations

import math
from functools import cache

from misstep._core import StateSpace
from misstep.oracles import Objective, Workbench
from misstep.oracles.dominance import DominanceFunction, try_dominance
from misstep.oracles.values import Cost
from misstep.oracles.verdict import Verdict
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.policies import Misbehaving
from support.tasks import CONDITIONAL, random_costs, small_task

POLICIES = [
    "heuristic:ff",
    "noisy:0.3:5+heuristic:ff",
    "noisy:0.2:3+optimal",
    "first",
    "random:7",
    "optimal",
    "misbehaving",
]


@cache
def variant(name: str, costs: tuple[int, ...]) -> tuple[Task, StateSpace]:
    task = Task(CONDITIONAL.encode()) if name == "conditional" else small_task(name)
    if costs:
        task = random_costs(task, seed=11, choices=costs)
    return task, StateSpace(task, [task.initial_state])


def workbench(
    task: Task,
    policy: str,
    *,
    max_steps: int | None = 1000,
    objective: Objective = Objective.COST,
) -> Workbench:
    loaded = Misbehaving(task, seed=3) if policy == "misbehaving" else load_policy(policy, task)
    return Workbench(
        PolicyRunner(loaded), max_steps=max_steps, objective=objective, dominance=dominance_of(task)
    )


@cache
def dominance_of(task: Task) -> DominanceFunction | str:
    return try_dominance(task)


def sample(space: StateSpace, count: int) -> list[State]:
    return [space.state(s) for s in range(0, len(space), max(1, len(space) // count))]


def verdicts_along(bench: Workbench, state: State) -> list[Verdict]:
    """Verdicts on all states of the run from a state. The gap never grows along a run."""
    trace = bench.trace(state)
    last = -1 if trace.outcome == "loop" else None  # seen before
    return bench.verdicts_of(trace.states[:last])


def true_cost(bench: Workbench, state: State) -> Cost:
    """What the policy spends if nobody cuts its run; infinitely much also if it crashes on the way."""
    trace = bench.runner.trace(state, None)
    return trace.cost if trace.outcome == "goal" else math.inf


def true_gap(cost: Cost, best: Cost) -> Cost:
    return 0 if math.isinf(best) else cost - best


def naive_lookahead(bench: Workbench, state: State, depth: int) -> Cost:
    """The cheapest plan that follows the policy after at most `depth` operators of any kind."""
    task = bench.task
    if task.is_goal(state):
        return 0
    if depth == 0:
        trace = bench.runner.trace(state, bench.max_steps)
        return trace.cost if trace.outcome == "goal" else math.inf
    return min(
        (
            task.cost(op) + naive_lookahead(bench, task.apply(state, op), depth - 1)
            for op in task.applicable(state)
        ),
        default=math.inf,
    )
