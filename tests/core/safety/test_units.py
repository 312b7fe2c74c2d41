"""Small systems with known answers, in every order of labels and outcomes. On each, some wrong algorithm fails."""

from __future__ import annotations

import pytest

from misstep._core import make_safety_decider
from support.safety import (
    KINDS,
    RADII,
    UNITS,
    check_facts,
    check_strategy_of,
    exact_values,
    is_safe,
    name_of,
    unit,
    unit_permutations,
    unit_states,
)


@pytest.mark.parametrize("name", UNITS)
def test_the_reference_gives_the_known_answers(name: str) -> None:
    states = unit_states(name)
    for column, radius in enumerate(RADII):
        safe = is_safe(unit(name), radius)
        for state, answers in UNITS[name][1].items():
            assert safe[states.index(state)] == (answers[column] == "Y"), (state, radius)


@pytest.mark.parametrize("order", ["safest", "policy", "declared"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNITS)
def test_every_decider_gives_the_known_answers(name: str, kind: str, order: str) -> None:
    states = unit_states(name)
    questions = [
        (states.index(state), radius, name_of(answer == "Y"))
        for state, answers in UNITS[name][1].items()
        for radius, answer in zip(RADII, answers, strict=True)
    ]
    for world in unit_permutations(name):
        shared = world.decider(kind, order=order)
        for s, radius, answer in questions:
            alone = world.decider(kind, order=order)
            assert alone.decide(s, radius).answer == answer, (s, radius)
            assert shared.decide(s, radius).answer == answer, (s, radius)
            if answer == "safe":
                check_strategy_of(world, alone, s, radius)
                check_strategy_of(world, shared, s, radius)
        check_facts(world, shared)
        backwards = world.decider(kind, order=order)
        for s, radius, answer in reversed(questions):
            assert backwards.decide(s, radius).answer == answer, (s, radius)


def test_permutations_are_all_there() -> None:
    # U8: two orders of labels in p and in q, and two orders of the outcomes of both labels in q.
    assert sum(1 for _ in unit_permutations("U8")) == 2 * 2 * 2 * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNITS)
def test_smallest_radius(name: str, kind: str) -> None:
    world = unit(name)
    exact, safe = exact_values(world), is_safe(world, None)
    for s in range(len(world)):
        for largest in (0, 1, 2, 5):
            radius, decision = world.decider(kind).smallest_radius(s, largest)
            if exact[s] <= largest:
                assert radius == exact[s]
            else:
                assert radius == (float("inf") if safe[s] else None)
            assert decision.answer == name_of(safe[s])


@pytest.mark.parametrize("kind", KINDS)
def test_answers_after_a_change_of_policy(kind: str) -> None:
    """What does not depend on the policy stays known; the rest is found out again."""
    from misstep._core import LabelTable

    for name in UNITS:
        world = unit(name)
        system = world.system()
        decider = make_safety_decider(system, kind, 0)
        for s in range(len(world)):
            for radius in RADII:
                decider.decide(s, radius)
        world.policy = [actions[-1][0] if actions else -1 for actions in world.actions]
        system.set_policy(LabelTable(world.policy))
        for s in range(len(world)):
            assert decider.known(s) == name_of(is_safe(world, None)[s])
            if is_safe(world, None)[s]:
                check_strategy_of(world, decider, s, None)
        check_facts(world, decider)
        for radius in RADII:
            for s, safe in enumerate(is_safe(world, radius)):
                assert decider.decide(s, radius).answer == name_of(safe)
