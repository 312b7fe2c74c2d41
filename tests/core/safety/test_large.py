"""Long chains, families on which published algorithms take exponential time, and limits."""

from __future__ import annotations

from functools import cache

import pytest

from misstep._core import ExplicitTransitions, FirstLabel, SafetySystem, make_safety_decider
from support.safety import KINDS, UNSAFE, Explicit, check_facts, is_safe, name_of


def family(n: int) -> Explicit:
    """s_i: a -> {s_i+1, u_i}, b -> s_i+1; s_n -> s_0; u_i -> B. Searches that forget too much take time 2^n here."""
    bad = 2 * n + 1
    actions: list[list[tuple[int, list[int]]]] = [
        [(0, [i + 1, n + 1 + i]), (1, [i + 1])] for i in range(n)
    ]
    actions += [[(0, [0])], *([(0, [bad])] for _ in range(n)), []]
    return Explicit([0] * bad + [UNSAFE], actions, [0] * len(actions))


# Evaluations by state of the chain, which has two states a link. TarjanSafe pushes each state once.
WORK = {"localfix": 3, "tarjan": 2, "lrtdp": 6, "lao": 4, "vi": 3, "ipi": 3}


@pytest.mark.parametrize("kind", KINDS)
def test_exponential_family(kind: str) -> None:
    n = 2000
    world = family(n)
    decision = world.decider(kind).decide(0, None)
    assert decision.answer == "safe"
    assert decision.evaluations <= WORK[kind] * (n + 1)
    for radius in (0, 2):
        assert world.decider(kind).decide(0, radius).answer == "not safe"


@pytest.mark.parametrize("kind", KINDS)
def test_exponential_family_small(kind: str) -> None:
    world = family(12)
    for radius in (0, 1, None):
        for s, safe in enumerate(is_safe(world, radius)):
            assert world.decider(kind).decide(s, radius).answer == name_of(safe)


N = 1_000_000


@cache
def chain(end: str) -> ExplicitTransitions:
    """A million states in a row; the last one leads back to the first, is a dead end, or is unsafe."""
    count = N if end == "back" else N - 1
    offsets = list(range(count + 1))
    return ExplicitTransitions(
        [0] * (N - 1) + [UNSAFE if end == "unsafe" else 0],
        [*offsets, *[count] * (N - count)],
        [0] * count,
        offsets,
        [(i + 1) % N for i in range(count)],
    )


@pytest.mark.parametrize("end", ["back", "dead end", "unsafe"])
@pytest.mark.parametrize("kind", KINDS)
def test_chain_of_a_million_states(kind: str, end: str) -> None:
    answer = "not safe" if end == "unsafe" else "safe"
    decider = make_safety_decider(SafetySystem(chain(end), FirstLabel()), kind, 0)
    radius = 0 if end == "dead end" else None
    assert decider.decide(0, radius).answer == answer
    if kind == "localfix" and end == "back":
        assert len(decider.strategy(0, radius)[0]) == N


@pytest.mark.parametrize("kind", KINDS)
def test_limits_leave_what_is_known_valid(kind: str) -> None:
    world = family(30)
    for limit in range(40):
        decider = world.decider(kind)
        decision = decider.decide(0, None, evaluations=limit)
        assert decision.evaluations <= limit
        assert decision.answer in ("safe", "unknown")
        assert decision.limit == ("evaluations" if decision.answer == "unknown" else "none")
        check_facts(world, decider)
        for s, safe in enumerate(is_safe(world, 1)):
            assert decider.decide(s, 1).answer == name_of(safe)


@pytest.mark.parametrize("kind", KINDS)
def test_every_limit_gives_an_unknown_answer(kind: str) -> None:
    for limits, name in (
        ({"expansions": 5}, "expansions"),
        ({"bytes": 1}, "memory"),
        ({"seconds": 0.0}, "time"),
    ):
        decider = family(1000).decider(kind)
        decision = decider.decide(0, None, **limits)
        assert (decision.answer, decision.limit) == ("unknown", name)
        assert decider.decide(0, None).answer == "safe"


def test_effort_is_counted() -> None:
    decider = family(20).decider("localfix", order="policy")
    first = decider.decide(0, None)
    again = decider.decide(0, None)
    assert first.expansions == 41
    assert first.evaluations >= 21
    assert first.policy_calls > 0
    assert (again.expansions, again.evaluations, again.policy_calls) == (0, 0, 0)


@pytest.mark.parametrize("order", ["safest", "declared"])
def test_these_orders_never_ask_the_policy_without_bound(order: str) -> None:
    world = family(20)
    system = world.system(order=order)
    decider = make_safety_decider(system, "localfix", 0)
    assert decider.decide(0, None).answer == "safe"
    assert system.policy_calls == 0


def test_work_is_linear_in_the_radius() -> None:
    """A deviation that leads back to itself: its value grows to any cap, one at a time."""
    world = Explicit([0, UNSAFE], [[(0, [1]), (1, [0])], []], [0, -1])
    for kind in KINDS:
        decision = world.decider(kind).decide(0, 1000)
        assert decision.answer == "not safe"
        assert decision.evaluations <= 10_000
        assert world.decider(kind).decide(0, 10**18, evaluations=100).answer == "unknown"
