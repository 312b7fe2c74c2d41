"""Slow, obvious twins of what the fuzzers compute, straight from the definitions."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable

import numpy as np

from misstep._core import HFF, CounterRandom, StateSpace
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.settings import Settings, preset
from misstep.fuzzing.walking import Walking
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State, Task

POLICIES = ["optimal", "noisy:0.2:3+optimal", "random:5", "first", "heuristic:ff"]
VARIANTS: dict[str, Settings] = {
    "detour": preset("p24", max_states=60),
    "mixed": preset("p24", max_states=60, unbiased_share=0.3),
    "novelty": preset("p24", bias="policy-cost", max_states=60, novelty=2),
    "p22": preset("p22", max_states=60),
}

Goal = Callable[[State], float]
Between = Callable[[State, State], float]


class InPython(Policy):
    """Another policy, asked through Python."""

    def __init__(self, inner: Policy) -> None:
        super().__init__(inner.task)
        self.inner = inner
        self.batches: list[int] = []

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        self.batches.append(len(states))
        return self.inner.decide(states, candidates)


def ff_estimates(task: Task) -> tuple[Goal, Between]:
    to_goal, pair = HFF(task), HFF(task)

    def between(source: State, target: State) -> float:
        pair.set_goal_state(target)
        return float(pair(source))

    return lambda state: float(to_goal(state)), between


def exact_estimates(task: Task, space: StateSpace) -> tuple[Goal, Between]:
    h_star = space.h_star
    known: dict[int, dict[int, float]] = {}

    def distances(source: int) -> dict[int, float]:
        found = {source: 0.0}
        open_ = [(0.0, source)]
        while open_:
            cost, at = heapq.heappop(open_)
            if cost > found[at]:
                continue
            for op, target in space.transitions(at):
                reached = cost + task.cost(op)
                if reached < found.get(target, math.inf):
                    found[target] = reached
                    heapq.heappush(open_, (reached, target))
        return found

    def between(source: State, target: State) -> float:
        at = space.find(source)
        if at not in known:
            known[at] = distances(at)
        return known[at].get(space.find(target), math.inf)

    return lambda state: float(h_star[space.find(state)]), between


def naive_bias(task: Task, name: str, trace: Trace, to_goal: Goal, between: Between) -> float:
    costs = [task.cost(op) for op in trace.operators]
    states = trace.states
    if name == "policy-cost":
        return sum(costs) if costs else -math.inf
    if name == "surface":
        if math.isinf(to_goal(states[0])):
            return -math.inf
        if any(math.isinf(to_goal(state)) for state in states):
            return math.inf
    best = -math.inf
    for i, j in itertools.combinations(range(len(states)), 2):
        paid = sum(costs[i:j])
        if name == "loop":
            best = max(best, paid - between(states[j], states[i]))
        elif name == "detour":
            best = max(best, paid - between(states[i], states[j]))
        else:
            best = max(best, paid - (to_goal(states[i]) - to_goal(states[j])))
    return best


def sequential_runs(
    runner: PolicyRunner, states: States, state_budget: int, expansion_budget: int
) -> list[tuple[str, int]]:
    """Lines 10 to 13 of P24, one candidate after the other."""
    left, result = expansion_budget, []
    for values in states.tolist():
        if left <= 0:
            break
        trace = runner.trace(State(values), min(left, state_budget))
        result.append((trace.outcome, len(trace.operators)))
        left -= len(trace.operators)
    return result


def spread(space: StateSpace, count: int) -> States:
    """States from all over the state space."""
    return np.ascontiguousarray(space.states()[:: max(1, len(space) // count)])


Entry = tuple[State, int, tuple[int, ...], int]


def naive_walks(fuzzer: Fuzzer, most: int) -> list[Entry]:
    """The pool of W walks under way at once, made by one walk after the other: (state, reference, walk, iteration).

    Each iteration keeps a copy of the pool that it leaves behind, and the walk W iterations later draws from that copy.
    The fuzzer gives its settings and single walks; nothing of its own pool is used.
    """
    settings, runner = fuzzer.settings, fuzzer.runner
    assert runner is not None
    pool: list[Entry] = [(fuzzer.task.initial_state, 0, (), -1)]
    left_behind = [list(pool)] * settings.walks  # as of iterations -W to -1
    idle_from = [0] * settings.walks
    smoothed = [False] * settings.walks
    for iteration in range(most):
        seen = left_behind[iteration]
        random = CounterRandom(fuzzer.seed, iteration)
        drawn = fuzzer.start(random, len(seen))
        share = settings.min_weight if smoothed[iteration] else 0.0
        start = runner.graph.add(np.array([seen[drawn.reference][0].values], dtype=np.int32))
        found = _driven(fuzzer.walk(int(start[0]), drawn, random, share), runner)
        quiet = idle_from[-1]
        for id, walk in found:
            state = runner.graph.state(id)
            if state not in [entry[0] for entry in pool] and len(pool) < settings.max_states:
                pool.append((state, drawn.reference, tuple(walk), iteration))
                quiet = iteration + 1
        left_behind.append(list(pool))
        idle_from.append(quiet)
        smoothed.append(smoothed[-1] or iteration + 1 - quiet >= settings.patience)
        if len(pool) == settings.max_states:
            break
    return pool


def _driven(walking: Walking, runner: PolicyRunner) -> list[tuple[int, tuple[int, ...]]]:
    while True:
        try:
            runner.ask(next(walking))
        except StopIteration as end:
            return [(offer.id, offer.walk) for offer in end.value.offers]
