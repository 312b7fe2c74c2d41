"""Random and hand-made tasks for dominance functions, and their whole truth over all assignments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import (
    MINUS_INFINITY,
    CounterRandom,
    DominanceCore,
    DominanceFactoring,
    DominanceTables,
    StateSpace,
    dominance_simulation,
    naive_dominance,
)
from misstep.tasks.task import State, Task
from support.tasks import sas, walk

Matrix = NDArray[np.int64]


@dataclass(frozen=True)
class Variant:
    """How a dominance function is made: the factors, then the simulation."""

    merge: bool = False
    max_states: int = 50_000
    max_transitions: int = 10_000
    reduce_labels: bool = False
    shrink: bool = False
    prune_unreachable: bool = True
    strict: bool = True
    tau: bool = True
    recursive_tau: bool = True
    noop_tau: bool = False
    truncate: int = 1000
    max_steps: int = 10**12
    max_cells: int = 2**26
    threads: int = 1

    def factoring(self, task: Task) -> DominanceFactoring:
        return DominanceFactoring(
            task,
            merge=self.merge,
            max_states=self.max_states,
            max_transitions=self.max_transitions,
            reduce_labels=self.reduce_labels,
            shrink=self.shrink,
            prune_unreachable=self.prune_unreachable,
        )

    @property
    def _simulation(self) -> dict[str, Any]:
        names = ("strict", "tau", "recursive_tau", "noop_tau", "truncate", "max_steps")
        return {name: getattr(self, name) for name in (*names, "max_cells", "threads")}

    def simulate(self, factoring: DominanceFactoring) -> DominanceTables:
        return dominance_simulation(factoring, **self._simulation)

    def naive(self, factoring: DominanceFactoring) -> tuple[list[Matrix], list[Matrix]]:
        return naive_dominance(factoring, **self._simulation)

    def function(self, task: Task) -> DominanceCore:
        return DominanceCore(task, [self.simulate(self.factoring(task))])

    def but(self, **changes: Any) -> Variant:
        return replace(self, **changes)


ATOMIC = Variant()
MERGED = Variant(merge=True, max_transitions=40)
VARIANTS: dict[str, Variant] = {
    "atomic": ATOMIC,
    "merged": MERGED,
    "one factor": Variant(merge=True),
    "reduced": MERGED.but(reduce_labels=True),
    "shrunk": MERGED.but(reduce_labels=True, shrink=True),
    "shrunk only": MERGED.but(shrink=True),
    "atomic reduced": ATOMIC.but(reduce_labels=True, shrink=True),
    "with unreachable": MERGED.but(prune_unreachable=False),
    "truncated": ATOMIC.but(truncate=2),
    "merged truncated": MERGED.but(truncate=2),
    "cancelled": ATOMIC.but(max_steps=60),
    "merged cancelled": MERGED.but(max_steps=200),
    "few cells": MERGED.but(max_cells=20),
    "no tau": ATOMIC.but(tau=False),
    "merged, no tau": MERGED.but(tau=False),
    "not recursive": ATOMIC.but(recursive_tau=False),
    "not strict": MERGED.but(strict=False),
    "noop": ATOMIC.but(noop_tau=True),
    "merged noop": MERGED.but(noop_tau=True),
}


def random_task(seed: int, costs: tuple[int, ...]) -> Task:
    """2 to 4 variables of 2 to 4 values, 3 to 12 operators; often with dead ends."""
    random = CounterRandom(seed, stream=77)

    def one_of(low: int, high: int) -> int:
        return low + random.below(high - low + 1)

    domains = [one_of(2, 4) for _ in range(one_of(2, 4))]
    operators = []
    for _ in range(one_of(3, 12)):
        touched = {random.below(len(domains)) for _ in range(one_of(1, 3))}
        prevail, effects = [], []
        for index, v in enumerate(sorted(touched)):
            before = random.below(domains[v]) if random.below(10) < 8 else -1
            if index == 0 or random.below(2):
                effects.append(f"0 {v} {before} {random.below(domains[v])}")
            elif before >= 0:
                prevail.append(f"{v} {before}")
        cost = costs[random.below(len(costs))]
        lines = [str(len(prevail)), *prevail, str(len(effects)), *effects, str(cost)]
        operators.append("\n".join(lines))
    initial = [random.below(size) for size in domains]
    # Most goals are where a random walk ends, so that most tasks are solvable.
    end = State([random.below(size) for size in domains])
    if random.below(10):
        somewhere = Task(sas(domains, initial, [(0, 0)], operators).encode())
        end = walk(somewhere, steps=12, seed=seed)[-1]
    goal = [(v, end[v]) for v in range(len(domains)) if random.below(10) < 6] or [(0, end[0])]
    return Task(sas(domains, initial, goal, operators).encode(), name=f"random-{seed}")


@dataclass(frozen=True)
class Truth:
    """All assignments of a small task, and h* of each; infinite: no plan."""

    states: NDArray[np.int32]
    h_star: NDArray[np.float64]

    @staticmethod
    def of(task: Task) -> Truth:
        states = np.array(list(product(*map(range, task.domain_sizes))), dtype=np.int32)
        roots = [State(row) for row in states.tolist()]
        space = StateSpace(task, roots)
        return Truth(states, space.h_star[[space.find(root) for root in roots]])

    def matrix(self, function: DominanceCore) -> Matrix:
        return function.matrix(self.states, self.states)

    def violations(self, values: Matrix) -> list[tuple[list[int], list[int], int]]:
        """Pairs with D(s, t) > h*(s) - h*(t) where h*(s) is finite."""
        solvable = np.isfinite(self.h_star)
        claimed = (values > MINUS_INFINITY) & solvable[:, None]
        with np.errstate(invalid="ignore"):
            wrong = claimed & ~(values <= self.h_star[:, None] - self.h_star[None, :])
        return [
            (self.states[s].tolist(), self.states[t].tolist(), int(values[s, t]))
            for s, t in np.argwhere(wrong)
        ]

    def counts(self, values: Matrix) -> tuple[int, int, int]:
        """Pairs with h*(s) finite: those with D(s, t) finite, all, and those where it is exact."""
        solvable = np.isfinite(self.h_star)
        known = values[solvable] > MINUS_INFINITY
        with np.errstate(invalid="ignore"):
            tight = known & (
                values[solvable] == self.h_star[solvable][:, None] - self.h_star[None, :]
            )
        return int(known.sum()), int(known.size), int(tight.sum())
