"""Small tasks with their whole truth, and policies of every quality on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from misstep._core import StateSpace
from misstep.faults.regret import Regrets, Value, ValueOf, bounded_regrets
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State, Task
from support.policies import Misbehaving
from support.tasks import CONDITIONAL, SMALL, random_costs, small_task

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (0,), (1, 2, 50)]
NAMES = [*SMALL, "conditional"]
POLICIES = [
    "optimal",
    "noisy:0.3:5+optimal",
    "noisy:0.1:2+heuristic:ff",
    "random:3",
    "first",
    "mad",
]


def exact_regrets(
    task: Task, trace: Trace, h_star: ValueOf, length: ValueOf | None = None
) -> Regrets:
    """The regrets where h* is known; `length` gives d*, the steps of a shortest cheapest plan."""

    def lower(state: State) -> Value:
        value = h_star(state)
        return 0 if value is None else value

    def upper(state: State) -> Value:
        value = h_star(state)
        return math.inf if value is None else value

    return bounded_regrets(task, trace, lower, upper, length)


@dataclass
class World:
    task: Task
    space: StateSpace
    lengths: list[float]  # of a shortest cheapest plan

    def h_star(self, state: State) -> float:
        return float(self.space.h_star[self.space.find(state)])

    def length(self, state: State) -> float:
        return self.lengths[self.space.find(state)]

    def states(self, count: int) -> list[State]:
        """Spread over the space."""
        return [
            self.space.state(s) for s in range(0, len(self.space), max(1, len(self.space) // count))
        ]

    def runner(self, spec: str) -> PolicyRunner:
        policy: Policy = (
            Misbehaving(self.task, 3, 15) if spec == "mad" else load_policy(spec, self.task)
        )
        return PolicyRunner(policy)


@cache
def world(name: str, costs: tuple[int, ...]) -> World:
    task = Task(CONDITIONAL.encode()) if name == "conditional" else small_task(name)
    if costs:
        task = random_costs(task, seed=11, choices=costs)
    space = StateSpace(task, [task.initial_state])
    return World(task, space, _lengths(task, space))


def _lengths(task: Task, space: StateSpace) -> list[float]:
    """Fewest steps along operators of regret zero, by repetition until nothing changes."""
    h = space.h_star
    lengths = [0.0 if space.is_goal[s] else math.inf for s in range(len(space))]
    changed = True
    while changed:
        changed = False
        for s in range(len(space)):
            if space.is_goal[s] or math.isinf(h[s]):
                continue
            for op, t in space.transitions(s):
                if task.cost(op) + h[t] == h[s] and lengths[t] + 1 < lengths[s]:
                    lengths[s] = lengths[t] + 1
                    changed = True
    return lengths
