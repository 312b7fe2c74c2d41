"""Definition 4: the distance of two policies agrees with the differences on all their runs."""

from __future__ import annotations

import math
from random import Random

import pytest

from misstep._core import LabelTable
from misstep.errors import MemoryLimitError
from misstep.safety import policy_distance
from support.safety import Explicit, exact_values, lift, random_world, unit, unit_states


def by_brute_force(world: Explicit, other: list[int], start: int) -> float:
    """The largest number of differences on runs of limited length; infinite if it still grows with more steps."""
    steps = 2 * len(world) + 2

    def most(limit: int) -> list[int]:
        counts = [0] * len(world)
        for _ in range(limit):
            counts = [
                max((counts[t] for t in world.outcomes(s, other[s])), default=0)
                + int(other[s] != world.policy[s])
                if not world.is_terminal(s) and world.outcomes(s, other[s])
                else 0
                for s in range(len(world))
            ]
        return counts

    # A cycle with a difference adds one at least each time round, and has at most as many steps as there are states.
    few, many = most(steps)[start], most(steps + len(world) * (steps + 1))[start]
    return few if few == many else math.inf


def test_distances_agree_with_brute_force() -> None:
    infinite = several = 0
    for seed in range(400):
        random = Random(seed)
        world = random_world(random, 2, 9, stops=seed % 3 == 0)
        other = [random.choice(a)[0] if (a := world.actions[s]) else -1 for s in range(len(world))]
        if seed % 5 == 0:
            other = [-1 if random.random() < 0.2 else label for label in other]
        if seed % 2 == 0:  # close to each other, so that finite distances come up
            mixed = [random.random() < 0.7 for _ in other]
            other = [p if m else q for p, q, m in zip(world.policy, other, mixed, strict=True)]
        system = lift(world)
        for s in range(len(world)):
            expected = by_brute_force(world, other, s)
            assert policy_distance(system, LabelTable(other), s) == expected, (seed, s)
            infinite += expected == math.inf
            several += 1 < expected < math.inf
    assert infinite > 100
    assert several > 30


def test_a_policy_has_distance_zero_to_itself() -> None:
    for seed in range(50):
        world = random_world(Random(seed))
        for s in range(len(world)):
            assert policy_distance(lift(world), LabelTable(world.policy), s) == 0


def test_the_least_distance_of_a_safe_policy_is_the_radius() -> None:
    """For all policies of tiny systems: a state is r-safe exactly if some safe policy has a distance of at most r."""
    from itertools import product

    for seed in range(60):
        world = random_world(Random(seed), 2, 5)
        exact = exact_values(world)
        choices = [[label for label, _ in own] or [-1] for own in world.actions]
        best = [math.inf] * len(world)
        system = lift(world)
        for other in product(*choices):
            for s in range(len(world)):
                if _is_safe(world, list(other), s):
                    best[s] = min(best[s], policy_distance(system, LabelTable(list(other)), s))
        assert best == exact, seed


def _is_safe(world: Explicit, policy: list[int], start: int) -> bool:
    reached = [start]
    for s in reached:
        if world.flags[s] & 1:
            return False
        if not world.is_terminal(s):
            reached += [t for t in world.outcomes(s, policy[s]) if t not in reached]
    return True


def test_distances_by_hand_and_limits() -> None:
    states = unit_states("U4")
    system = lift(unit("U4"))
    everywhere_b = LabelTable([1] * len(states))
    assert policy_distance(system, everywhere_b, states.index("s")) == 2
    assert policy_distance(system, everywhere_b, states.index("t")) == 1
    assert policy_distance(lift(unit("U3")), LabelTable([1, 1]), 0) == math.inf
    with pytest.raises(MemoryLimitError, match="more than 1 states"):
        policy_distance(system, everywhere_b, states.index("s"), max_states=1)
