"""Explicit transition systems with their whole truth: the reference that all deciders are held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from misstep._core import (
    ExplicitTransitions,
    LabelTable,
    SafetyDecider,
    SafetySystem,
    make_safety_decider,
)
from misstep.checking import Situation, validate_strategy
from misstep.safety import System

KINDS = ("localfix", "tarjan", "lrtdp", "lao", "vi", "ipi")
RADII: tuple[int | None, ...] = (0, 1, 2, None)  # None: without bound
UNSAFE, GOAL = 1, 2


@dataclass
class Explicit:
    """States are numbers; `actions[s]` lists pairs of a label and its outcomes; `policy[s]` is a label, -1 for none."""

    flags: list[int]
    actions: list[list[tuple[int, list[int]]]]
    policy: list[int]
    initial: list[int] = field(default_factory=lambda: [0])
    distances: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.flags)

    def is_terminal(self, s: int) -> bool:
        return self.flags[s] != 0 or not self.actions[s]

    def outcomes(self, s: int, label: int) -> list[int]:
        return next((t for a, t in self.actions[s] if a == label), [])

    def transitions(self) -> ExplicitTransitions:
        rows = [action for actions in self.actions for action in actions]
        return ExplicitTransitions(
            self.flags,
            list(itertools.accumulate((len(a) for a in self.actions), initial=0)),
            [label for label, _ in rows],
            list(itertools.accumulate((len(t) for _, t in rows), initial=0)),
            [t for _, targets in rows for t in targets],
            self.initial,
            self.distances,
        )

    def system(self, inapplicable: str = "stop_safe", **rules: str) -> SafetySystem:
        policy = LabelTable(self.policy)
        return SafetySystem(self.transitions(), policy, inapplicable=inapplicable, **rules)

    def decider(self, kind: str, **rules: str) -> SafetyDecider:
        return make_safety_decider(self.system(**rules), kind, 7)


def fixpoint(world: Explicit, radius: int | None) -> list[int]:
    """J for a radius, by repeating the definition until nothing changes."""
    top = 1 if radius is None else radius + 1
    values = [top if flags & UNSAFE else 0 for flags in world.flags]
    changed = True
    while changed:
        changed = False
        for s, actions in enumerate(world.actions):
            if world.is_terminal(s):
                continue
            best = top
            for label, targets in actions:
                cost = int(radius is not None and label != world.policy[s])
                best = min(best, cost + max(values[t] for t in targets))
            if best > values[s]:
                values[s], changed = best, True
    return values


def is_safe(world: Explicit, radius: int | None) -> list[bool]:
    limit = 0 if radius is None else radius
    return [value <= limit for value in fixpoint(world, radius)]


def exact_values(world: Explicit) -> list[float]:
    """J without a cap: the least radius of each state, infinite if there is none."""
    top = len(world) + 1  # no strategy deviates more often than there are states
    return [math.inf if value > top else value for value in fixpoint(world, top)]


def enumerate_safe(world: Explicit, start: int, radius: int | None) -> bool:
    """The definition, literally: some choice of one label a state is safe and deviates at most `radius` times."""
    open_states = [s for s in range(len(world)) if not world.is_terminal(s)]
    for labels in itertools.product(*(range(len(world.actions[s])) for s in open_states)):
        choice = dict(zip(open_states, labels, strict=True))
        if _deviations(world, start, choice) <= (math.inf if radius is None else radius):
            return True
    return False


def _deviations(world: Explicit, start: int, choice: dict[int, int]) -> float:
    """The most deviations on a run; more than infinity, so to speak, if a run gets unsafe (NaN compares to nothing)."""
    reached = [start]
    for s in reached:
        if world.flags[s] & UNSAFE:
            return math.nan
        if s in choice:
            reached += [t for t in world.actions[s][choice[s]][1] if t not in reached]
    # Longest ways by repetition: with n states a way of more than n deviations goes round in a circle.
    counts: dict[int, float] = dict.fromkeys(reached, 0)
    for _ in range(len(reached) + 1):
        for s in reached:
            if s in choice:
                label, targets = world.actions[s][choice[s]]
                counts[s] = int(label != world.policy[s]) + max(counts[t] for t in targets)
    changed = any(
        int(world.actions[s][choice[s]][0] != world.policy[s])
        + max(counts[t] for t in world.actions[s][choice[s]][1])
        > counts[s]
        for s in reached
        if s in choice
    )
    return math.inf if changed else counts[start]


def random_world(random: Random, least: int = 3, most: int = 25, stops: bool = False) -> Explicit:
    n = random.randint(least, most)
    unsafe = random.choice([0.05, 0.1, 0.2, 0.3])
    goal = random.choice([0, 0.05, 0.2])
    dead = random.choice([0, 0, 0.1])
    width, spread = random.randint(1, 4), random.randint(1, 3)
    # Local systems have more cycles than those whose outcomes lie anywhere.
    reach = random.choice([2, 4, n])
    flags, actions, policy = [], [], []
    for s in range(n):
        flags.append(
            (UNSAFE if random.random() < unsafe else 0) | (GOAL if random.random() < goal else 0)
        )
        labels = random.sample(range(6), 0 if random.random() < dead else random.randint(1, width))
        actions.append(
            [
                (
                    label,
                    [
                        (s + random.randint(-reach, reach)) % n
                        for _ in range(random.randint(1, spread))
                    ],
                )
                for label in labels
            ]
        )
        named = random.choice(labels) if labels else -1
        policy.append(-1 if stops and random.random() < 0.2 else named)
    world = Explicit(flags, actions, policy, [0], [])
    world.distances = [0.0 if f & UNSAFE else float(random.randint(1, 4)) for f in flags]
    return world


# The unit systems: state -> labels with outcomes; B is unsafe, G a goal, D has no label, X is both unsafe and goal.
UNITS: dict[str, tuple[dict[str, dict[str, str]], dict[str, str], str]] = {
    # name: (system, answers for the radii 0, 1, 2 and none, states with a fault)
    "U1": ({"s": {"a": "s"}}, {"s": "YYYY"}, ""),
    "U2": ({"s": {"a": "B", "b": "G"}}, {"s": "nYYY"}, "s"),
    "U2-": ({"s": {"a": "B"}}, {"s": "nnnn"}, ""),
    "U3": ({"s": {"a": "B", "b": "s"}}, {"s": "nnnY"}, "s"),
    "U4": (
        {"s": {"a": "B", "b": "t"}, "t": {"a": "B", "b": "G"}},
        {"s": "nnYY", "t": "nYYY"},
        "st",
    ),
    "U5": (
        {"s": {"a": "tu"}, "t": {"a": "G"}, "u": {"a": "B", "b": "G"}},
        {"s": "nYYY", "t": "YYYY", "u": "nYYY"},
        "u",
    ),
    "U6": (
        {"s": {"a": "tu"}, "t": {"a": "B", "b": "G"}, "u": {"a": "B", "b": "G"}},
        {"s": "nYYY", "t": "nYYY", "u": "nYYY"},
        "tu",
    ),
    "U7": ({"s": {"a": "t", "b": "t"}, "t": {"a": "sB"}}, {"s": "nnnn", "t": "nnnn"}, ""),
    "U8": (
        {"p": {"a": "q", "b": "o"}, "q": {"a": "oB", "b": "pB"}, "o": {"a": "q"}},
        {"p": "nnnn", "q": "nnnn", "o": "nnnn"},
        "",
    ),
    "U9": ({"s": {"a": "X"}}, {"s": "nnnn", "X": "nnnn"}, ""),
    "U10": ({"s": {"a": "D"}}, {"s": "YYYY", "D": "YYYY"}, ""),
    "U11": (
        {"s": {"b": "t", "a": "t"}, "t": {"a": "B", "b": "u"}, "u": {"a": "G"}},
        {"s": "nYYY", "t": "nYYY", "u": "YYYY"},
        "t",
    ),
    "U12": (
        {"s": {"a": "t", "b": "tG"}, "t": {"a": "B", "b": "BG"}},
        {"s": "nnnn", "t": "nnnn"},
        "",
    ),
    "U13": ({"s": {"a": "t"}, "t": {"a": "sB", "b": "t"}}, {"s": "nnnY", "t": "nnnY"}, "t"),
    "U14": (
        {"s": {"a": "tB", "b": "G"}, "t": {"a": "B", "b": "G"}},
        {"s": "nYYY", "t": "nYYY"},
        "st",
    ),
    "U15": (
        {"s": {"a": "t", "b": "G"}, "t": {"a": "u"}, "u": {"a": "B"}},
        {"s": "nYYY", "t": "nnnn", "u": "nnnn"},
        "s",
    ),
    "U16": (
        {"s": {"a": "t", "b": "G"}, "t": {"a": "B", "b": "v"}, "v": {"a": "B", "b": "G"}},
        {"s": "nYYY", "t": "nnYY", "v": "nYYY"},
        "tv",
    ),
}
_FLAGS = {"B": UNSAFE, "G": GOAL, "X": UNSAFE | GOAL}


def unit_states(name: str) -> list[str]:
    system = UNITS[name][0]
    used = {t for actions in system.values() for targets in actions.values() for t in targets}
    return [*system, *sorted(used - set(system))]


def unit(name: str) -> Explicit:
    """The system as written. The policy takes the first label listed."""
    return next(unit_permutations(name))


def unit_permutations(name: str) -> Iterator[Explicit]:
    """The system with its labels and outcomes in every order; the policy stays."""
    system = UNITS[name][0]
    states = unit_states(name)
    number = {state: i for i, state in enumerate(states)}
    policy = [ord(next(iter(system[s]))) - ord("a") if s in system else -1 for s in states]
    slots = [
        [
            [
                (ord(label) - ord("a"), list(order))
                for label, order in zip(labels, orders, strict=True)
            ]
            for labels in itertools.permutations(actions)
            for orders in itertools.product(
                *(itertools.permutations([number[t] for t in actions[label]]) for label in labels)
            )
        ]
        for actions in system.values()
    ]
    for actions in itertools.product(*slots):
        rest: list[list[tuple[int, list[int]]]] = [[] for _ in states[len(system) :]]
        yield Explicit([_FLAGS.get(s, 0) for s in states], [*actions, *rest], policy)


def fragment_of(world: Explicit) -> dict[Hashable, Situation]:
    """The whole system, for the independent checker."""
    return {
        s: Situation(
            bool(flags & UNSAFE), bool(flags & GOAL), world.policy[s], dict(world.actions[s])
        )
        for s, flags in enumerate(world.flags)
    }


def name_of(safe: bool) -> str:
    return "safe" if safe else "not safe"


def check_facts(world: Explicit, decider: SafetyDecider) -> None:
    """Everything that a decider keeps is true, also about states that nobody asked about."""
    exact = exact_values(world)
    safe = is_safe(world, None)
    for s in range(len(world)):
        if world.is_terminal(s):
            continue
        lower, upper, is_lost, is_known_safe = decider.facts(s)
        assert lower <= exact[s], (s, lower)
        assert upper is None or exact[s] <= upper, (s, upper)
        assert not (is_lost and safe[s]), s
        assert not is_known_safe or safe[s], s


def check_strategy_of(
    world: Explicit, decider: SafetyDecider, start: int, radius: int | None
) -> None:
    states, labels = decider.strategy(start, radius)
    report = validate_strategy(
        fragment_of(world),
        start,
        dict(zip(states, labels, strict=True)),
        math.inf if radius is None else radius,
    )
    assert report.valid, report


def check_world(
    world: Explicit, kind: str, random: Random, radii: tuple[int | None, ...], fresh: bool
) -> int:
    """All answers of a decider, with caches shared in random order; with `fresh` also one at a time.

    Returns how many there were.
    """
    rules = {"order": random.choice(["safest", "policy", "declared"])}
    truth = {radius: is_safe(world, radius) for radius in radii}
    questions = [(s, radius) for s in range(len(world)) for radius in radii]
    random.shuffle(questions)
    shared = world.decider(kind, **rules)
    for s, radius in questions:
        assert shared.decide(s, radius).answer == name_of(truth[radius][s]), (s, radius)
    check_facts(world, shared)
    for s, radius in questions[:10]:
        if truth[radius][s]:
            check_strategy_of(world, shared, s, radius)
    for s, radius in questions if fresh else questions[:5]:
        alone = world.decider(kind, **rules)
        # A limit on the way must not leave anything behind that is not true.
        early = alone.decide(s, radius, evaluations=random.randint(0, 3)).answer
        assert early in ("unknown", name_of(truth[radius][s]))
        if random.random() < 0.1:
            check_facts(world, alone)
        assert alone.decide(s, radius).answer == name_of(truth[radius][s]), (s, radius)
        if truth[radius][s] and random.random() < 0.2:
            check_strategy_of(world, alone, s, radius)
    return len(questions)


def lift(world: Explicit, **rules: str) -> System[int, int]:
    """The same as a system of the Python package, with states 0, 1, ..."""
    policy = LabelTable(world.policy)
    chosen: dict[str, Any] = {"inapplicable": "stop_safe", **rules}
    return System(world.transitions(), policy, **chosen)


def policy_graph(world: Explicit, start: int) -> dict[int, int]:
    """Distances along the policy from a state; nothing beyond terminal states."""
    distances = {start: 0}
    layer = [start]
    while layer:
        found = []
        for s in layer:
            if world.is_terminal(s):
                continue
            for t in world.outcomes(s, world.policy[s]):
                if t not in distances:
                    distances[t] = distances[s] + 1
                    found.append(t)
        layer = found
    return distances


def check_policy_run(world: Explicit, states: list[int], labels: list[int]) -> None:
    assert len(states) == len(labels) + 1
    for s, label, t in zip(states, labels, states[1:], strict=False):
        assert not world.is_terminal(s)
        assert label == world.policy[s]
        assert t in world.outcomes(s, label)


def true_faults(world: Explicit, radius: int | None) -> set[int]:
    safe = is_safe(world, radius)
    return {
        s
        for s in range(len(world))
        if safe[s]
        and not world.is_terminal(s)
        and not all(safe[t] for t in world.outcomes(s, world.policy[s]))
    }
