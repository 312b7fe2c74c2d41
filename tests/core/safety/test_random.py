"""All deciders agree with the reference on random systems."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from support.safety import (
    KINDS,
    UNSAFE,
    Explicit,
    check_world,
    enumerate_safe,
    fixpoint,
    is_safe,
    random_world,
)

RADII: tuple[int | None, ...] = (0, 1, 2, 3, None)


@pytest.mark.parametrize("kind", KINDS)
def test_deciders_agree_with_the_reference_on_500_random_systems(kind: str) -> None:
    for seed in range(500):
        random = Random(seed)
        world = random_world(random, stops=seed % 3 == 0)
        check_world(world, kind, random, RADII, fresh=seed % 25 == 0)


def tiny(seed: int) -> Explicit:
    return random_world(Random(seed), 2, 5, stops=seed % 3 == 0)


def test_the_reference_agrees_with_all_strategies() -> None:
    """The least solution of the equation agrees with the best of all strategies."""
    for seed in range(150):
        world = tiny(seed)
        for radius in (0, 1, 2, None):
            safe = is_safe(world, radius)
            for s in range(len(world)):
                assert enumerate_safe(world, s, radius) == safe[s], (seed, s, radius)


def test_values_of_small_radii_are_those_of_large_ones_cut_off() -> None:
    for seed in range(100):
        world = random_world(Random(seed))
        large = fixpoint(world, 5)
        for radius in range(5):
            assert fixpoint(world, radius) == [min(value, radius + 1) for value in large]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_monotone(kind: str) -> None:
    """Safe within r is safe within r + 1; more unsafe states or outcomes never help; more labels never harm."""
    for seed in range(60):
        random = Random(seed)
        world = random_world(random)
        before = [_answers(world, kind, radius) for radius in RADII]
        for less, more in pairwise(before):
            assert all(not a or b for a, b in zip(less, more, strict=True))
        worse = Explicit(list(world.flags), [list(a) for a in world.actions], world.policy)
        worse.flags[random.randrange(len(world))] |= UNSAFE
        s = random.randrange(len(world))
        worse.actions[s] = [
            (label, [*targets, random.randrange(len(world))]) for label, targets in world.actions[s]
        ]
        for radius, safe in zip(RADII, before, strict=True):
            assert all(a or not b for a, b in zip(safe, _answers(worse, kind, radius), strict=True))
        better = Explicit(world.flags, [list(a) for a in world.actions], world.policy)
        if world.actions[s]:  # a dead end would stop being one
            better.actions[s].append((9, [random.randrange(len(world))]))
        for radius, safe in zip(RADII, before, strict=True):
            assert all(
                b or not a for a, b in zip(safe, _answers(better, kind, radius), strict=True)
            )


def _answers(world: Explicit, kind: str, radius: int | None) -> list[bool]:
    decider = world.decider(kind)
    return [decider.decide(s, radius).answer == "safe" for s in range(len(world))]


def test_the_same_seed_gives_the_same_work() -> None:
    world = random_world(Random(3), 20, 25)
    for kind in KINDS:
        counts = [
            [
                (d.decide(s, r).evaluations, d.decide(s, r).answer)
                for s in range(len(world))
                for r in RADII
            ]
            for d in (world.decider(kind), world.decider(kind))
        ]
        assert counts[0] == counts[1]
