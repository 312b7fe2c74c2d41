"""Set-valued policies that behave in a chosen way, and the truth about them by listing all states of a task.

The truth is computed from definitions, with the checker's reader of tasks and plain loops, and shares nothing with the
code that explores permitted graphs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.checking.sas import SasTask, parse_sas
from misstep.checking.sas import State as Values
from misstep.checking.semantics import apply, is_applicable, is_goal
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.tasks.task import State, Task
from support.tasks import sas

Rule = Callable[[Task, State, list[int]], list[int]]


class SetPolicy(Policy):
    """Permits what a rule says; a rule gets the task, the state and the applicable operators."""

    set_valued = True

    def __init__(self, task: Task, rule: Rule, name: str = "rule") -> None:
        super().__init__(task)
        self.rule = rule
        self.digest = f"{name} on {task.digest}"
        self.batches: list[int] = []

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        raise AssertionError("a set-valued policy is asked what it permits")

    def permitted(self, states: States) -> Candidates:
        self.batches.append(len(states))
        sets = [self._one(State(values)) for values in states.tolist()]
        offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        return Candidates(offsets, np.array([op for own in sets for op in own], dtype=np.int32))

    def _one(self, state: State) -> list[int]:
        return self.rule(self.task, state, self.task.applicable(state))


def as_family(policy: Policy) -> SetPolicy:
    """What a policy of a real family permits, state by state, as the truth asks for it."""

    def rule(_: Task, state: State, __: list[int]) -> list[int]:
        row = np.array([state.values], dtype=np.int32)
        own: list[int] = policy.permitted(row).operators.tolist()
        return own

    return SetPolicy(policy.task, rule, policy.name)


class DrawingPolicy(SetPolicy):
    """Draws uniformly among what a rule says."""

    set_valued = False
    stochastic = True

    def probabilities(self, states: States) -> tuple[Candidates, NDArray[np.float64]]:
        found = SetPolicy.permitted(self, states)
        counts = np.diff(found.offsets)
        return found, np.repeat(1 / np.maximum(counts, 1), counts)


class PlanPolicy(Policy):
    """Answers with the plan that a function gives."""

    plans = True

    def __init__(self, task: Task, function: Callable[[Task, State], list[int]]) -> None:
        super().__init__(task)
        self.function = function
        self.digest = f"plans on {task.digest}"
        self.calls = 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        raise AssertionError("an open-loop policy is asked for plans")

    def plan(self, state: State) -> list[int]:
        self.calls += 1
        return self.function(self.task, state)


# -- rules ----------------------------------------------------------------------------------------


def everything(_: Task, __: State, applicable: list[int]) -> list[int]:
    return applicable


def nothing(_: Task, __: State, ___: list[int]) -> list[int]:
    return []


def by_hash(percent: int, seed: int) -> Rule:
    """Each applicable operator with a probability, drawn once for each state."""

    def rule(_: Task, state: State, applicable: list[int]) -> list[int]:
        random = CounterRandom(seed, hash(state))
        return [op for op in applicable if random.below(100) < percent]

    return rule


def improving(estimate: Callable[[Task], Callable[[State], float]], slack: int = 0) -> Rule:
    """Operators that lead nearer to the goal by an estimate; the slack allows for steps that do not."""
    estimates: dict[str, Callable[[State], float]] = {}

    def rule(task: Task, state: State, applicable: list[int]) -> list[int]:
        if task.digest not in estimates:
            estimates[task.digest] = estimate(task)
        value = estimates[task.digest]
        here = value(state)
        return [op for op in applicable if value(task.apply(state, op)) < here + slack]

    return rule


def goal_count(task: Task) -> Callable[[State], float]:
    goal = task.goal
    return lambda state: sum(state.values[v] != x for v, x in goal)


def true_distance(task: Task) -> Callable[[State], float]:
    truth = Truth(task, None)
    return lambda state: truth.steps[tuple(state.values)]


def mostly(rule: Rule, percent: int, seed: int) -> Rule:
    """The rule, but in some states any applicable operator more."""

    def mixed(task: Task, state: State, applicable: list[int]) -> list[int]:
        random = CounterRandom(seed, hash(state))
        chosen = set(rule(task, state, applicable))
        if applicable and random.below(100) < percent:
            chosen.add(applicable[random.below(len(applicable))])
        return sorted(chosen)

    return mixed


def careless(rule: Rule, percent: int, seed: int) -> Rule:
    """The rule, but in some states also an operator that may not apply."""

    def mixed(task: Task, state: State, applicable: list[int]) -> list[int]:
        random = CounterRandom(seed, hash(state))
        chosen = set(rule(task, state, applicable))
        if random.below(100) < percent:
            chosen.add(int(random.below(task.operator_count)))
        return sorted(chosen)

    return mixed


def crashing(rule: Rule, percent: int, seed: int) -> Rule:
    def mixed(task: Task, state: State, applicable: list[int]) -> list[int]:
        if CounterRandom(seed, hash(state)).below(100) < percent:
            raise RuntimeError("no idea")
        return rule(task, state, applicable)

    return mixed


# -- the truth ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    verdict: str
    kind: str | None
    gap: float


class Truth:
    """Everything about a policy on a task, from all states that can be reached from the initial state."""

    def __init__(self, task: Task, policy: SetPolicy | None) -> None:
        self.task: SasTask = parse_sas(task.sas.decode(), task.name)
        self.edges: dict[Values, list[tuple[int, int, Values]]] = {}
        queue = [self.task.initial_state]
        self.edges[queue[0]] = []
        for state in queue:
            for number, operator in enumerate(self.task.operators):
                if is_applicable(state, operator):
                    after = apply(state, operator)
                    self.edges[state].append((number, operator.cost, after))
                    if after not in self.edges:
                        self.edges[after] = []
                        queue.append(after)
        self.states = queue
        self.goals = {state for state in queue if is_goal(state, self.task)}
        self.permitted: dict[Values, list[int] | None] = {}
        for state in queue if policy is not None else ():
            assert policy is not None
            try:
                self.permitted[state] = policy._one(State(list(state)))
            except RuntimeError:
                self.permitted[state] = None

    def _backwards(self, permitted: bool, unit: bool = False) -> dict[Values, float]:
        """The cheapest way to a goal, by Dijkstra's algorithm from the goals."""
        into: dict[Values, list[tuple[int, Values]]] = {state: [] for state in self.states}
        for state, edges in self.edges.items():
            if permitted and state in self.goals:
                continue
            for number, cost, after in edges:
                if not permitted or number in (self.permitted[state] or ()):
                    into[after].append((1 if unit else cost, state))
        best = dict.fromkeys(self.states, math.inf)
        heap: list[tuple[float, Values]] = []
        for goal in self.goals:
            best[goal] = 0
            heapq.heappush(heap, (0.0, goal))
        while heap:
            spent, state = heapq.heappop(heap)
            if spent > best[state]:
                continue
            for own, before in into[state]:
                if spent + own < best[before]:
                    best[before] = spent + own
                    heapq.heappush(heap, (spent + own, before))
        return best

    @cached_property
    def h_star(self) -> dict[Values, float]:
        return self._backwards(False)

    @cached_property
    def steps(self) -> dict[Values, float]:
        return self._backwards(False, unit=True)

    @cached_property
    def best(self) -> dict[Values, float]:
        return self._backwards(True)

    def _sure(self, crash_is_fine: bool) -> dict[Values, float]:
        """States all of whose permitted runs end well, and what the dearest costs: by repeating the definition."""
        sure: dict[Values, float] = dict.fromkeys(self.goals, 0)
        if crash_is_fine:
            sure |= {state: 0 for state, own in self.permitted.items() if own is None}
        changed = True
        while changed:
            changed = False
            for state in self.states:
                own = self.permitted[state]
                if state in sure or not own:
                    continue
                after = {number: (cost, there) for number, cost, there in self.edges[state]}
                if all(op in after and after[op][1] in sure for op in own):
                    sure[state] = max(after[op][0] + sure[after[op][1]] for op in own)
                    changed = True
        return sure

    @cached_property
    def worst(self) -> dict[Values, float]:
        return self._sure(False)

    @cached_property
    def crashes_at_most(self) -> set[Values]:
        return set(self._sure(True))

    @cached_property
    def meets_crash(self) -> set[Values]:
        """Where a permitted run comes to a state in which the policy crashes."""
        found = {s for s, own in self.permitted.items() if own is None and s not in self.goals}
        while True:
            more = {
                state
                for state, edges in self.edges.items()
                if state not in self.goals
                for number, _, after in edges
                if number in (self.permitted[state] or ()) and after in found
            }
            if more <= found:
                return found
            found |= more

    def expected(self, state: Values, costly_some: bool) -> Expected:
        """The verdict on a state, if everything is known."""
        h_star, best = self.h_star[state], self.best[state]
        if math.isinf(h_star):
            return Expected("OPTIMAL", None, 0)
        if state not in self.worst:
            if state in self.crashes_at_most:
                return Expected("BUG", "crash", math.inf)
            none = math.isinf(best) and state not in self.meets_crash
            return Expected("BUG", "fails-all" if none else "fails-some", math.inf)
        spent = self.worst[state] if costly_some else best
        if spent == h_star:
            return Expected("OPTIMAL", None, 0)
        return Expected("BUG", "costly-best" if best > h_star else "costly-some", spent - h_star)


# -- tasks ----------------------------------------------------------------------------------------


def random_task(seed: int) -> Task:
    """A few variables, operators between random values with costs from 0 to 3."""
    random = CounterRandom(seed)
    domains = [2 + random.below(3) for _ in range(4)]
    operators = []
    for _ in range(14):
        used = [random.below(len(domains)), random.below(len(domains))]
        effects = sorted(set(used))
        lines = ["0", str(len(effects))]
        for v in effects:
            before, after = random.below(domains[v]), random.below(domains[v])
            lines.append(f"0 {v} {before if random.below(3) else -1} {after}")
        operators.append("\n".join([*lines, str(random.below(4))]))
    goal = [(v, random.below(domains[v])) for v in (0, 2)]
    initial = [random.below(size) for size in domains]
    return Task(sas(domains, initial, goal, operators).encode(), name=f"random-{seed}")
