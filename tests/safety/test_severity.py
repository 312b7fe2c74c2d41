"""The severity of bugs: exact with a large budget, and never wrong with a small one."""

from __future__ import annotations

from random import Random

import pytest

from misstep._core import make_safety_decider
from misstep.errors import PolicyCrashError, UsageError
from misstep.safety import Decider, Radii, System, severities
from misstep.safety.decider import KINDS, PUBLISHED
from misstep.safety.severity import ALLOWANCE, automatic_budget
from support.safety import UNSAFE, Explicit, exact_values, is_safe, lift, policy_graph, random_world

LARGEST = 3


def unsafe_from(world: Explicit) -> list[int]:
    """States that are not terminal and from which the policy can get unsafe."""
    return [
        s
        for s in range(len(world))
        if not world.is_terminal(s) and any(world.flags[t] & UNSAFE for t in policy_graph(world, s))
    ]


@pytest.mark.parametrize("kind", ["tarjan", "localfix", "lrtdp"])
def test_severities_agree_with_the_reference(kind: str) -> None:
    asked = exact_ones = 0
    for seed in range(300):
        random = Random(seed)
        world = random_world(random, stops=seed % 3 == 0)
        states = unsafe_from(world)
        random.shuffle(states)
        exact = exact_values(world)
        decider = Decider(lift(world), random.choice(KINDS))
        for s in random.sample(states, len(states) // 2):
            decider.decide(s)  # some are known to be lost by then
        full = severities(decider, states, LARGEST, evaluations=10**6, kind=kind)
        for s in states:
            value = exact[s]
            expected = (
                Radii(int(value), int(value)) if value <= LARGEST else Radii(LARGEST + 1, None)
            )
            assert full.radii[s] == expected, (seed, s)
            exact_ones += expected.is_exact
        tight = severities(decider, states, LARGEST, evaluations=random.randint(0, 30), kind=kind)
        for s, (low, high) in tight.radii.items():
            assert 1 <= low <= exact[s]
            assert high is None or low == high == exact[s]
        assert tight.effort.evaluations <= tight.budget + len(states)
        asked += len(states)
    assert asked > 900
    assert exact_ones > 200


def test_what_is_lost_is_taken_over_and_nothing_else() -> None:
    """A decider that has adopted the lost states of another one still gives only right answers."""
    adopted = 0
    for seed in range(200):
        random = Random(seed)
        world = random_world(random)
        truth = {radius: is_safe(world, radius) for radius in (0, 1, 2, None)}
        for kind in ("tarjan", "localfix", "lrtdp", "vi"):
            system = world.system()
            first = make_safety_decider(system, random.choice(["localfix", "tarjan", "vi"]), 0)
            for s in range(0, len(world), 2):
                first.decide(s, None)
            second = make_safety_decider(system, kind, 0)
            second.adopt_lost(first)
            told = [s for s in range(len(world)) if second.known(s, 1) == "not safe"]
            assert not any(truth[None][s] for s in told)
            adopted += sum(not world.flags[s] & UNSAFE for s in told)
            for s in range(len(world)):
                for radius, safe in truth.items():
                    assert (second.decide(s, radius).answer == "safe") == safe[s], (seed, kind, s)
    assert adopted > 500


def test_facts_of_a_decider_of_another_system_are_refused() -> None:
    world = random_world(Random(0))
    with pytest.raises(ValueError, match="different systems"):
        world.decider("tarjan").adopt_lost(world.decider("tarjan"))


def test_a_policy_that_fails_leaves_the_rest_open() -> None:
    class Model:
        def applicable(self, state: int) -> list[str]:
            return ["a", "b"] if state < 3 else []

        def outcomes(self, state: int, label: str) -> list[int]:
            return [9] if label == "a" else [state + 1]

        def is_goal(self, state: int) -> bool:
            return state == 3

        def is_unsafe(self, state: int) -> bool:
            return state == 9

    def policy(state: int) -> str:
        if state == 2:
            raise PolicyCrashError("no answer")
        return "a"

    decider = Decider(System(Model(), policy, initial=[0]))
    report = severities(decider, [1, 0], 2, evaluations=1000)
    assert report.failure == "no answer"
    assert report.radii == {1: Radii(1, None), 0: Radii(1, None)}


def test_the_automatic_budget_and_bad_arguments() -> None:
    assert automatic_budget(1000, 3) == 1000 + 3 * ALLOWANCE
    decider = Decider(lift(random_world(Random(1))))
    with pytest.raises(UsageError, match="largest radius"):
        severities(decider, [0], 0, evaluations=10)
    with pytest.raises(UsageError, match="comparisons only"):
        severities(decider, [0], 1, evaluations=10, kind=PUBLISHED)
    assert severities(decider, [], 2, evaluations=10).radii == {}
