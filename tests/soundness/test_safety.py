"""Deciders of state safety on tens of thousands of random systems.

Plausible but wrong versions of the algorithms give a wrong answer once in some thousand questions, on systems that a
few hundred samples do not contain. Here every answer, every fact that is kept and every strategy of 20,000 systems is
compared with the reference.
"""

from __future__ import annotations

from random import Random

import pytest

from misstep.safety import Decider, Radii, severities
from support.safety import (
    KINDS,
    UNSAFE,
    check_world,
    enumerate_safe,
    exact_values,
    is_safe,
    lift,
    policy_graph,
    random_world,
)

RADII: tuple[int | None, ...] = (0, 1, 2, 3, None)
PARTS = 20


@pytest.mark.soundness
@pytest.mark.parametrize("part", range(PARTS))
def test_deciders_against_the_reference(part: int) -> None:
    questions = 0
    for seed in range(part, 20_000, PARTS):
        random = Random(1_000_000 + seed)
        world = random_world(random, stops=seed % 3 == 0)
        for kind in KINDS:
            questions += check_world(world, kind, random, RADII, fresh=seed % 10 == 0)
    assert questions > 100_000


@pytest.mark.soundness
@pytest.mark.parametrize("part", range(PARTS))
def test_reference_against_all_strategies(part: int) -> None:
    for seed in range(part, 4000, PARTS):
        world = random_world(Random(seed), 2, 5, stops=seed % 3 == 0)
        for radius in (0, 1, 2, None):
            safe = is_safe(world, radius)
            for s in range(len(world)):
                assert enumerate_safe(world, s, radius) == safe[s], (seed, s, radius)


@pytest.mark.soundness
@pytest.mark.parametrize("part", range(PARTS))
def test_severities_against_the_reference(part: int) -> None:
    """With any budget the interval contains the exact radius, and with a large budget it is the exact radius."""
    asked = 0
    for seed in range(part, 10_000, PARTS):
        random = Random(2_000_000 + seed)
        world = random_world(random, stops=seed % 3 == 0)
        exact = exact_values(world)
        states = [
            s
            for s in range(len(world))
            if not world.is_terminal(s)
            and any(world.flags[t] & UNSAFE for t in policy_graph(world, s))
        ]
        decider = Decider(lift(world), random.choice(KINDS))
        for s in random.sample(states, len(states) // 2):
            decider.decide(s)
        budget = random.choice([0, 1, 5, 20, 100])
        for s, (low, high) in severities(decider, states, 3, evaluations=budget).radii.items():
            assert 1 <= low <= exact[s]
            assert high is None or low == high == exact[s]
        full = severities(decider, states, 3, evaluations=10**6).radii
        for s in states:
            value = exact[s]
            assert full[s] == (Radii(int(value), int(value)) if value <= 3 else Radii(4, None))
        asked += len(states)
    assert asked > 1000
