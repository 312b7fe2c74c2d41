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


# -- variants -------------------------------------------------------------------------------------


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
    max_drops: int = 10**9
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
        names = ("strict", "tau", "recursive_tau", "noop_tau", "truncate", "max_drops", "max_steps")
        return {name: getattr(self, name) for name in (*names, "max_cells", "threads")}

    def simulate(self, factoring: DominanceFactoring) -> DominanceTables:
        return dominance_simulation(factoring, **self._simulation)

    def naive(self, factoring: DominanceFactoring) -> tuple[list[Matrix], list[Matrix]]:
        """The tables by the definition, and the costs of internal moves."""
        return naive_dominance(factoring, **self._simulation)[:2]

    def naive_labels(self, factoring: DominanceFactoring) -> tuple[Matrix, int]:
        """The weights of labels by the definition (factor, challenge, answer; nothing comes first), and the rounds."""
        return naive_dominance(factoring, **self._simulation)[2:]

    def tables(self, task: Task) -> list[Matrix]:
        simulated = self.simulate(self.factoring(task))
        return [simulated.table(i) for i in range(len(simulated))]

    def tables_of(self, task: Task, **changes: Any) -> list[Matrix]:
        return self.but(**changes).tables(task)

    def function(self, task: Task) -> DominanceCore:
        return DominanceCore(task, [self.simulate(self.factoring(task))])

    @property
    def within_budget(self) -> bool:
        return self.max_drops >= 10**9 and self.max_steps >= 10**12 and self.max_cells >= 2**26

    def but(self, **changes: Any) -> Variant:
        return replace(self, **changes)


ATOMIC = Variant()
ONE_FACTOR = Variant(merge=True)
MERGED = Variant(merge=True, max_transitions=40)
VARIANTS: dict[str, Variant] = {
    "atomic": ATOMIC,
    "merged": MERGED,
    "one factor": ONE_FACTOR,
    "reduced": MERGED.but(reduce_labels=True),
    "shrunk": MERGED.but(shrink=True),
    "simplified": MERGED.but(reduce_labels=True, shrink=True),
    "atomic simplified": ATOMIC.but(reduce_labels=True, shrink=True),
    "with unreachable": MERGED.but(prune_unreachable=False),
    "truncated": ATOMIC.but(truncate=2),
    "merged truncated": MERGED.but(truncate=2),
    "cancelled": ATOMIC.but(max_steps=60),
    "merged cancelled": MERGED.but(max_steps=200),
    "few cells": MERGED.but(max_cells=20),
    "impatient": ATOMIC.but(max_drops=1),
    "merged impatient": MERGED.but(max_drops=2),
    "no tau": ATOMIC.but(tau=False),
    "merged, no tau": MERGED.but(tau=False),
    "not recursive": ATOMIC.but(recursive_tau=False),
    "not strict": MERGED.but(strict=False),
    "noop": ATOMIC.but(noop_tau=True),
    "merged noop": MERGED.but(noop_tau=True),
}


# -- tasks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operator:
    effects: tuple[tuple[int, int, int], ...]  # variable, value before (-1: any), value after
    prevail: tuple[tuple[int, int], ...] = ()
    cost: int = 1

    def lines(self) -> str:
        prevail = [f"{v} {x}" for v, x in self.prevail]
        effects = [f"0 {v} {before} {after}" for v, before, after in self.effects]
        rows = [str(len(prevail)), *prevail, str(len(effects)), *effects, str(self.cost)]
        return "\n".join(rows)


@dataclass(frozen=True)
class RawTask:
    """A task before it is written down, so that it can be written down in another order."""

    domains: tuple[int, ...]
    initial: tuple[int, ...]
    goal: tuple[tuple[int, int], ...]
    operators: tuple[Operator, ...]

    def task(self, name: str = "task") -> Task:
        lines = [op.lines() for op in self.operators]
        text = sas(list(self.domains), list(self.initial), list(self.goal), lines)
        return Task(text.encode(), name=name)

    def shuffled(self, seed: int) -> tuple[RawTask, list[int], list[list[int]]]:
        """Another order of variables, values and operators; new places of variables and values."""
        random = CounterRandom(seed, stream=5)

        def order(count: int) -> list[int]:
            places = list(range(count))
            for i in range(count - 1, 0, -1):
                j = random.below(i + 1)
                places[i], places[j] = places[j], places[i]
            return places

        place = order(len(self.domains))
        values = [order(size) for size in self.domains]

        def by_place(row: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(x for _, x in sorted(zip(place, row, strict=True)))

        def fact(v: int, x: int) -> tuple[int, int]:
            return place[v], values[v][x] if x >= 0 else -1

        operators = [
            Operator(
                tuple((place[v], fact(v, a)[1], fact(v, b)[1]) for v, a, b in op.effects),
                tuple(fact(v, x) for v, x in op.prevail),
                op.cost,
            )
            for op in self.operators
        ]
        raw = RawTask(
            by_place(self.domains),
            by_place(tuple(values[v][x] for v, x in enumerate(self.initial))),
            tuple(fact(v, x) for v, x in self.goal),
            tuple(operators[i] for i in order(len(operators))),
        )
        return raw, place, values


def random_raw_task(seed: int, costs: tuple[int, ...]) -> RawTask:
    """2 to 4 variables of 2 to 4 values, 3 to 12 operators; most are solvable, many have dead ends."""
    random = CounterRandom(seed, stream=77)

    def one_of(low: int, high: int) -> int:
        return low + random.below(high - low + 1)

    domains = tuple(one_of(2, 4) for _ in range(one_of(2, 4)))
    operators = []
    for _ in range(one_of(3, 12)):
        touched = {random.below(len(domains)) for _ in range(one_of(1, 3))}
        prevail, effects = [], []
        for index, v in enumerate(sorted(touched)):
            before = random.below(domains[v]) if random.below(10) < 8 else -1
            if index == 0 or random.below(2):
                effects.append((v, before, random.below(domains[v])))
            elif before >= 0:
                prevail.append((v, before))
        cost = costs[random.below(len(costs))]
        operators.append(Operator(tuple(effects), tuple(prevail), cost))
    initial = tuple(random.below(size) for size in domains)
    # Most goals are where a random walk ends.
    end = State([random.below(size) for size in domains])
    if random.below(10):
        somewhere = RawTask(domains, initial, ((0, 0),), tuple(operators)).task()
        end = walk(somewhere, steps=12, seed=seed)[-1]
    goal = tuple((v, end[v]) for v in range(len(domains)) if random.below(10) < 6)
    return RawTask(domains, initial, goal or ((0, end[0]),), tuple(operators))


def random_task(seed: int) -> Task:
    """Every other task has operators that cost nothing."""
    costs = (1, 2, 3) if seed % 2 else (0, 1, 2, 3)
    return random_raw_task(seed, costs).task(f"random-{seed}")


def solvable_tasks(seeds: range) -> list[Task]:
    tasks = [random_task(seed) for seed in seeds]
    return [task for task in tasks if ATOMIC.factoring(task).solvable]


def logistics(locations: int, packages: int, goal: int | None = None) -> Task:
    """One truck (variable 0), packages at a location or, as the last value, in the truck."""
    places = range(locations)
    operators = [Operator(((0, a, b),)) for a in places for b in places if a != b]
    for p in range(1, packages + 1):
        for a in places:
            operators.append(Operator(((p, a, locations),), ((0, a),)))
            operators.append(Operator(((p, locations, a),), ((0, a),)))
    goals = tuple((p, goal if goal is not None else p % locations) for p in range(1, packages + 1))
    domains = (locations, *[locations + 1] * packages)
    return RawTask(domains, (0,) * len(domains), goals, tuple(operators)).task("logistics")


def gripper(balls: int) -> Task:
    """Robot {A, B}; two grippers {free, used}; balls {A, B, left, right}, all to go to B."""
    operators = [Operator(((0, 0, 1),)), Operator(((0, 1, 0),))]
    for ball in range(3, 3 + balls):
        for room in (0, 1):
            for hand in (1, 2):
                pick = ((hand, 0, 1), (ball, room, 1 + hand))
                drop = ((hand, -1, 0), (ball, 1 + hand, room))  # whatever was known of the hand
                operators += [Operator(pick, ((0, room),)), Operator(drop, ((0, room),))]
    goal = tuple((ball, 1) for ball in range(3, 3 + balls))
    return RawTask((2, 2, 2, *[4] * balls), (0,) * (3 + balls), goal, tuple(operators)).task(
        "gripper"
    )


def visitall_2x2() -> Task:
    """Cells 00, 01, 10, 11; a flag {no, yes} for each but the first, where the robot starts."""
    moves = [(a, b) for a in range(4) for b in range(4) if bin(a ^ b).count("1") == 1]
    operators = [Operator(((0, a, b), *(((b, -1, 1),) if b > 0 else ()))) for a, b in moves]
    goal = ((1, 1), (2, 1), (3, 1))
    return RawTask((4, 2, 2, 2), (0, 0, 0, 0), goal, tuple(operators)).task("visitall")


# -- truth ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """States of a task, and h* of each; infinite: no plan."""

    states: NDArray[np.int32]
    h_star: NDArray[np.float64]

    @staticmethod
    def of(task: Task) -> Truth:
        """All assignments, reachable or not."""
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
            difference = self.h_star[solvable][:, None] - self.h_star[None, :]
        return (
            int(known.sum()),
            int(known.size),
            int((known & (values[solvable] == difference)).sum()),
        )


def check_values(
    seed: int,
) -> list[tuple[str, Variant, DominanceFactoring, DominanceTables]]:
    """The tables of every variant for a random task; none exceeds the truth."""
    task = random_task(seed)
    truth = Truth.of(task)
    found = []
    for name, variant in VARIANTS.items():
        factoring = variant.factoring(task)
        if not factoring.solvable:
            start = np.flatnonzero((truth.states == task.initial_state.values).all(axis=1))
            assert np.isinf(truth.h_star[start[0]]), (seed, name)
            continue
        tables = variant.simulate(factoring)
        values = truth.matrix(DominanceCore(task, [tables]))
        assert truth.violations(values) == [], (seed, name)
        found.append((name, variant, factoring, tables))
    return found


def max_plus(left: Matrix, right: Matrix) -> Matrix:
    """max over x of left(s, x) + right(x, t)."""
    result = np.full((len(left), right.shape[1]), MINUS_INFINITY)
    for x in range(right.shape[0]):
        known = (left[:, x] > MINUS_INFINITY)[:, None] & (right[x] > MINUS_INFINITY)[None, :]
        sums = np.where(known, left[:, x][:, None] + right[x][None, :], MINUS_INFINITY)
        result = np.maximum(result, sums)
    return result


def shown(table: Matrix) -> list[list[int | None]]:
    """With None for minus infinity."""
    return [[None if x <= MINUS_INFINITY else x for x in row] for row in table.tolist()]
