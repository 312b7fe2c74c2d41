"""Strategies on random systems: both checkers agree with the definition, also on strategies that were changed."""

from __future__ import annotations

import itertools
import math
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from misstep.checking.arrays import ArrayChecker
from misstep.checking.closed import closed_problem
from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask
from misstep.checking.shared import SharedStrategy, most_expensive_runs, read_shared
from misstep.safety import Decider, System, jani_transitions
from misstep.safety.shared import Packed, UnionChecker, packed
from misstep.tasks.jani.task import JaniTask
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable
from support.safety import GOAL, UNSAFE, Explicit, exact_values, is_safe, random_world

pytestmark = pytest.mark.soundness

Choice = dict[int, int]
WORLDS = 60


def as_model(world: Explicit) -> JaniTask:
    """The system as a model: the number of a state, and beside it whether that is odd, and its half."""
    count = len(world)
    labels = sorted({label for actions in world.actions for label, _ in actions}) or [0]
    edges = [
        edge(
            f"a{label}",
            op("=", "s", state),
            *(
                destination({"s": t, "odd": t % 2 == 1, "half": t / 2}, 1 / len(targets))
                for t in targets
            ),
        )
        for state, actions in enumerate(world.actions)
        for label, targets in actions
    ]

    def among(flag: int) -> Any:
        tests = [op("=", "s", s) for s, flags in enumerate(world.flags) if flags & flag]
        return op("∨", *tests) if tests else False  # noqa: RUF001

    document = jani.model(
        [
            variable("s", bounded(0, count - 1), 0),
            variable("odd", "bool", False),
            variable("half", "real", 0),
        ],
        edges,
        actions=" ".join(f"a{label}" for label in range(max(labels) + 1)),
        prop=pa(among(UNSAFE), among(GOAL)),
    )
    return jani.task(document)


def is_closed(world: Explicit, choice: Choice) -> bool:
    """The definition."""
    return bool(choice) and all(
        not world.is_terminal(s)
        and bool(world.outcomes(s, label))
        and all(
            t in choice or (world.is_terminal(t) and not world.flags[t] & UNSAFE)
            for t in world.outcomes(s, label)
        )
        for s, label in choice.items()
    )


def safe_choice(world: Explicit) -> Choice:
    """All states that are safe, each with a label that keeps it so."""
    safe = is_safe(world, None)
    return {
        s: next(label for label, targets in actions if all(safe[t] for t in targets))
        for s, actions in enumerate(world.actions)
        if safe[s] and not world.is_terminal(s)
    }


def mutants(world: Explicit, choice: Choice, random: Random) -> list[Choice]:
    labels = range(max((label for own in world.actions for label, _ in own), default=0) + 1)
    found = [{s: label for s, label in choice.items() if s != left} for left in choice]
    found += [{**choice, s: label} for s in choice for label in labels if label != choice[s]]
    others = [s for s in range(len(world)) if s not in choice]
    found += [{**choice, s: random.choice(labels)} for s in others]
    return found


def columns_of(choice: Choice) -> list[Any]:
    states = np.array(list(choice), np.int64)
    return [states, states % 2 == 1, states / 2]


class Checkers:
    def __init__(self, world: Explicit) -> None:
        self.world = world
        self.task = as_model(world)
        self.slow = SafetyTask.from_source(self.task.source)
        self.fast = ArrayChecker(self.slow)
        self.name = {name: number for number, name in enumerate(self.slow.labels)}

    def numbered(self, choice: Choice) -> Any:
        """Labels as the model has them; one that no edge has is beyond them."""
        return np.array([self.name.get(f"a{own}", len(self.name)) for own in choice.values()])

    def packed(self, choice: Choice) -> Packed:
        number = {s: place for place, s in enumerate(choice)}
        led = [
            sorted({number[t] for t in self.world.outcomes(s, label) if t in number})
            for s, label in choice.items()
        ]
        return packed(
            columns_of(choice),
            self.numbered(choice),
            np.array([len(targets) for targets in led]),
            np.array([t for targets in led for t in targets], np.int64),
        )

    def stored(self, choice: Choice) -> SharedStrategy:
        own = self.packed(choice)
        return read_shared(own.content, own.states)


@cache
def worlds() -> list[Explicit]:
    random = Random(15)
    return [random_world(random, 3, 12) for _ in range(WORLDS)]


def test_both_checkers_say_what_the_definition_says() -> None:
    random, accepted, refused = Random(7), 0, 0
    for world in worlds():
        own, honest = Checkers(world), safe_choice(world)
        for choice in [honest, *mutants(world, honest, random)]:
            if not choice:
                continue
            expected = is_closed(world, choice)
            found = own.fast.check(columns_of(choice), own.numbered(choice))
            stored = own.stored(choice)
            assert (found.problem is None) == expected, (choice, found.problem)
            assert (closed_problem(own.slow, stored) is None) == expected
            if expected:
                assert found.targets is not None
                assert found.targets.tolist() == list(stored.targets)
            accepted, refused = accepted + expected, refused + (not expected)
    assert accepted > 100
    assert refused > 500


def test_values_that_are_not_a_state_are_refused() -> None:
    """In a state, two variables follow from the third, so that most values are not a reachable state."""
    for world in worlds()[:10]:
        own, honest = Checkers(world), safe_choice(world)
        for place in range(len(honest)):
            for column, wrong in ((0, len(world)), (0, -1), (2, math.nan), (2, math.inf)):
                columns = columns_of(honest)
                columns[column] = columns[column].copy()
                columns[column][place] = wrong
                assert own.fast.check(columns, own.numbered(honest)).problem is not None


def test_wrong_targets_are_refused() -> None:
    random, refused = Random(3), 0
    for world in worlds()[:20]:
        own, honest = Checkers(world), safe_choice(world)
        for _ in range(10 if honest else 0):
            stored = own.stored(honest)
            if not stored.targets:
                continue
            changed = list(stored.targets)
            place = random.randrange(len(changed))
            changed[place] = random.randrange(len(honest))
            stored.targets = changed
            if changed == list(own.stored(honest).targets):
                continue
            assert "does not lead where" in str(closed_problem(own.slow, stored))
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("kind", ["localfix", "tarjan", "vi"])
def test_one_strategy_for_all_states_that_are_safe(kind: str) -> None:
    unions = 0
    for world in worlds():
        task = as_model(world)
        system: System[Any, str] = System(jani_transitions(task), "first")
        decider = Decider(system, kind)
        safe = [
            (s, s % 2 == 1, s / 2)
            for s, own in enumerate(is_safe(world, None))
            if own and not world.is_terminal(s)
        ]
        for state in safe:
            assert decider.decide(state).is_safe
        if not safe:
            continue
        union = UnionChecker(task).of_bugs(decider, safe, math.inf)
        own = union.packed()
        strategy = read_shared(own.content, own.states)
        assert set(safe) <= set(strategy.states)
        slow = SafetyTask.from_source(task.source)
        assert closed_problem(slow, strategy) is None
        choice = {
            int(state[0]): int(slow.labels[label][1:])
            for state, label in zip(strategy.states, strategy.labels, strict=True)
        }
        assert is_closed(world, choice)
        for state in safe:  # the part that is reachable is a strategy of its own
            part = {int(strategy.states[n][0]) for n in strategy.reachable(state)}
            assert is_closed(world, {s: choice[s] for s in part})
            assert int(state[0]) in part
        unions += 1
    assert unions > 30


def most(successors: list[list[int]], costs: list[int], start: int) -> float:
    """The largest cost of a run, by repetition. States cost 0 or 1, so a run that costs more than n has a cycle."""
    count = len(costs)
    values = [0.0] * count
    for _ in range(count * (count + 2)):
        values = [
            min(costs[s] + max((values[t] for t in successors[s]), default=0), count + 1)
            for s in range(count)
        ]
    return math.inf if values[start] > count else values[start]


def test_most_expensive_runs() -> None:
    random = Random(11)
    for _ in range(150):
        count = random.randint(1, 7)
        successors = [
            sorted(random.sample(range(count), random.randint(0, min(2, count))))
            for _ in range(count)
        ]
        costs = [int(random.random() < 0.4) for _ in range(count)]
        found = most_expensive_runs(successors, costs, range(count))
        assert found == [most(successors, costs, s) for s in range(count)]
        alone = random.randrange(count)
        assert most_expensive_runs(successors, costs, [alone])[alone] == found[alone]


def test_unions_within_a_radius() -> None:
    """From each state the strategy has the least possible number of deviations, or there is an error."""
    checked = 0
    for world, radius in itertools.product(worlds()[:40], (0, 1, 2)):
        task = as_model(world)
        system: System[Any, str] = System(jani_transitions(task), "first")
        first = [actions[0][0] if actions else -1 for actions in world.actions]
        ordered = Explicit(world.flags, world.actions, first)
        if any(own != sorted(own) for own in ([a for a, _ in acts] for acts in world.actions)):
            continue  # the model lists labels in the order of their names
        least = exact_values(ordered)
        decider = Decider(system, "localfix")
        states = [
            (s, s % 2 == 1, s / 2)
            for s in range(len(world))
            if least[s] <= radius and not world.is_terminal(s)
        ]
        for state in states:
            assert decider.decide(state, radius).is_safe
        if states:
            union = UnionChecker(task).of_bugs(decider, states, radius)
            assert len(union) >= len(states)
            checked += 1
    assert checked > 10


def test_damaged_content_is_refused() -> None:
    world = next(own for own in worlds() if len(safe_choice(own)) > 3)
    own = Checkers(world)
    honest = safe_choice(world)
    content = own.packed(honest).content
    whole = read_shared(content, len(honest))
    expected = (whole.states, whole.labels, whole.targets)
    random, refused = Random(5), 0
    for _ in range(300):
        damaged = bytearray(content)
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        if random.random() < 0.3:
            damaged = damaged[: random.randrange(len(damaged))]
        try:  # a bit of the header of zlib may say nothing
            read = read_shared(bytes(damaged), len(honest))
        except CheckError:
            refused += 1
            continue
        assert (read.states, read.labels, read.targets) == expected
    assert refused > 250
    with pytest.raises(CheckError, match="states of"):
        read_shared(content, len(honest) + 1)
