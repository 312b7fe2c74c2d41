"""Bad plans, and a slow, obvious twin of action elimination."""

from __future__ import annotations

import math

from misstep._core import HFF, CounterRandom, GreedyBestFirst, StateSpace
from misstep.tasks.task import State, Task


def bad_plan(space: StateSpace, start: State, steps: int, seed: int) -> list[int]:
    """A random walk that never enters a dead end, then the cheapest way to a goal."""
    random = CounterRandom(seed)
    here = space.find(start)
    plan = []
    for _ in range(steps):
        alive = [(op, t) for op, t in space.transitions(here) if not math.isinf(space.h_star[t])]
        if not alive:
            break
        op, here = alive[random.below(len(alive))]
        plan.append(op)
    while not space.is_goal[here]:
        op = int(space.best_operator[here])
        plan.append(op)
        here = dict(space.transitions(here))[op]
    return plan


def wandering_plan(task: Task, steps: int, seed: int) -> list[int]:
    """A random walk, then the plan of a greedy search: for tasks that are too large to enumerate."""
    random = CounterRandom(seed)
    state = task.initial_state
    plan = []
    for _ in range(steps):
        operators = task.applicable(state)
        plan.append(operators[random.below(len(operators))])
        state = task.apply(state, plan[-1])
    rest = GreedyBestFirst(task, HFF(task), state).run()
    assert rest.status == "plan"
    return plan + rest.plan


def naive_elimination(task: Task, start: State, plan: list[int], greedy: bool = False) -> list[int]:
    return _greedy(task, start, plan) if greedy else _first(task, start, plan)


def _replay(task: Task, state: State, plan: list[int]) -> tuple[list[int], State]:
    """Executes what applies; returns that, and where it ends."""
    kept = []
    for op in plan:
        if all(state[variable] == value for variable, value in task.preconditions(op)):
            state = task.apply(state, op)
            kept.append(op)
    return kept, state


def _first(task: Task, state: State, plan: list[int]) -> list[int]:
    i = 0
    while i < len(plan):
        kept, end = _replay(task, state, plan[i + 1 :])
        if task.is_goal(end):
            plan = plan[:i] + kept
        else:
            state = task.apply(state, plan[i])
            i += 1
    return plan


def _greedy(task: Task, start: State, plan: list[int]) -> list[int]:
    def cost(operators: list[int]) -> int:
        return sum(task.cost(op) for op in operators)

    while True:
        candidates = []
        state = start
        for i, op in enumerate(plan):
            kept, end = _replay(task, state, plan[i + 1 :])
            if task.is_goal(end):
                candidates.append(plan[:i] + kept)
            state = task.apply(state, op)
        if not candidates:
            return plan
        # min takes the first among equals: the earliest operator.
        plan = min(candidates, key=lambda left: (cost(left), len(left)))
