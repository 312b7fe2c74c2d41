"""TarjanSafe as published: where it is wrong, and that ours is not. Nothing else may rely on it."""

from __future__ import annotations

from random import Random

import pytest

from misstep.errors import UsageError
from misstep.safety import Decider
from misstep.safety.decider import KINDS, PUBLISHED
from support.safety import (
    UNITS,
    Explicit,
    is_safe,
    lift,
    name_of,
    random_world,
    unit,
    unit_permutations,
    unit_states,
)

RADII: tuple[int | None, ...] = (0, 1, 2, None)


def test_a_failed_node_on_the_stack_is_taken_for_safe() -> None:
    """U7: s may go to t by two labels, and t gets unsafe or back. Nothing is safe there."""
    wrong = [
        (s, radius)
        for s in range(2)
        for radius in RADII
        if unit("U7").decider(PUBLISHED, order="declared").decide(s, radius).answer == "safe"
    ]
    assert (0, None) in wrong
    assert all(
        unit("U7").decider("tarjan").decide(s, radius).answer == "not safe"
        for s in range(2)
        for radius in RADII
    )


def test_a_node_that_relied_on_a_failed_one_is_taken_for_safe() -> None:
    """U8, in some order of its labels and outcomes."""
    start = unit_states("U8").index("p")
    answers = {
        world.decider(PUBLISHED, order="declared").decide(start).answer
        for world in unit_permutations("U8")
    }
    assert answers == {"safe", "not safe"}


def test_most_units_are_right() -> None:
    for name in UNITS:
        if name in ("U7", "U8"):
            continue
        world = unit(name)
        for radius in RADII:
            truth = is_safe(world, radius)
            for s in range(len(world)):
                decided = world.decider(PUBLISHED, order="declared").decide(s, radius)
                assert decided.answer == name_of(truth[s]), (name, s, radius)


def test_its_errors_are_all_on_one_side() -> None:
    """Never is a safe state called unsafe; now and then it is the other way round."""
    wrong = asked = 0
    for seed in range(600):
        world = random_world(Random(seed))
        for radius in RADII:
            truth = is_safe(world, radius)
            for s in range(len(world)):
                decider = world.decider(PUBLISHED, order="declared")
                answer = decider.decide(s, radius, evaluations=20_000).answer
                if answer == "unknown":
                    continue
                asked += 1
                assert not (truth[s] and answer == "not safe"), (seed, s, radius)
                wrong += answer == "safe" and not truth[s]
    assert 0 < wrong < asked / 200


def ladder(n: int) -> Explicit:
    """s_i has a label to s_(i+1) and to u_i, which is lost, and one to s_(i+1) alone; the last leads to the first."""
    lost, unsafe = 2 * n, 2 * n
    actions: list[list[tuple[int, list[int]]]] = []
    for i in range(n):
        after = (i + 1) % n
        actions.append([(0, [after, n + i]), (1, [after])] if i < n - 1 else [(0, [0])])
    actions += [[(0, [unsafe])] for _ in range(n)]
    actions.append([])
    return Explicit([0] * lost + [1], actions, [0] * (2 * n + 1))


def test_it_has_no_strategies_and_has_to_be_asked_for() -> None:
    system = lift(unit("U2"))
    with pytest.raises(UsageError, match="comparisons only"):
        Decider(system, PUBLISHED)
    assert PUBLISHED not in KINDS
    published = Decider(system, PUBLISHED, comparison=True)
    assert published.decide(0).is_safe
    with pytest.raises(UsageError, match="no strategies"):
        published.strategy(0)


def test_ours_is_linear_on_the_ladder() -> None:
    for n in (10, 200):
        decider = ladder(n).decider("tarjan", order="declared")
        decided = decider.decide(0)
        assert decided.answer == "safe"
        assert decided.evaluations <= 3 * n
    assert ladder(10).decider(PUBLISHED, order="declared").decide(0).answer == "safe"
