"""The rules of a system: what ends runs, dead ends, policies that name nothing, broken tables."""

from __future__ import annotations

import pytest

from misstep._core import (
    BlacklistShield,
    ExplicitTransitions,
    LabelTable,
    PythonLabelPolicy,
    SafetySystem,
    explore_envelope,
    make_safety_decider,
)
from misstep.errors import InputFormatError, ToolError
from support.safety import GOAL, KINDS, UNSAFE, Explicit, unit


def test_outcomes_are_a_set() -> None:
    world = Explicit([0, GOAL], [[(3, [1, 0, 1, 1])], []], [3, -1])
    assert world.system().actions(0) == [(3, [1, 0])]


def test_terminal_states_are_not_left() -> None:
    world = Explicit([GOAL, UNSAFE, UNSAFE | GOAL], [[(0, [1])], [(0, [0])], [(0, [0])]], [0, 0, 0])
    system = world.system()
    assert [system.kind(s) for s in range(3)] == ["goal", "unsafe", "unsafe"]
    assert [system.actions(s) for s in range(3)] == [[], [], []]
    assert system.expansions == 0
    for kind in KINDS:
        answers = [world.decider(kind).decide(s, None).answer for s in range(3)]
        assert answers == ["safe", "not safe", "not safe"]


@pytest.mark.parametrize("kind", KINDS)
def test_dead_ends(kind: str) -> None:
    world = unit("U10")
    assert world.decider(kind, dead_end="safe").decide(0, None).answer == "safe"
    assert world.decider(kind, dead_end="unsafe").decide(0, None).answer == "not safe"
    assert world.decider(kind, dead_end="unsafe").decide(1, 2).answer == "not safe"
    with pytest.raises(InputFormatError, match="no label applies in state 1"):
        world.decider(kind, dead_end="error").decide(0, None)


def test_dead_end_that_is_unsafe_ends_an_unsafe_run() -> None:
    system = unit("U10").system(dead_end="unsafe")
    found = explore_envelope(system, [0])
    assert found.states == [0, 1]
    safe = explore_envelope(unit("U10").system(), [0])
    assert (safe.is_safe, safe.dead_ends) == (True, 1)


def test_policy_that_names_nothing_applicable() -> None:
    world = Explicit([0, GOAL], [[(3, [1]), (4, [0])], []], [7, -1])
    for inapplicable in ("filter", "error"):
        with pytest.raises(ToolError, match="the policy names label 7, which does not apply"):
            world.system(inapplicable).decision(0)
    world.policy = [-1, -1]
    with pytest.raises(ToolError, match="names no label in state 0"):
        world.system("error").decision(0)
    system = world.system("stop_safe")
    assert system.decision(0) is None
    assert system.policy_outcomes(0) == []
    envelope = explore_envelope(system, [0])
    assert (envelope.is_safe, envelope.stops) == (True, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_policy_stops_every_label_is_a_deviation(kind: str) -> None:
    world = Explicit([0, 0, GOAL], [[(0, [1])], [(0, [2])], []], [0, -1, -1])
    assert world.decider(kind).decide(0, 0).answer == "not safe"
    assert world.decider(kind).decide(0, 1).answer == "safe"
    lost = Explicit([0, UNSAFE], [[(0, [1])], []], [-1, -1])
    assert [lost.decider(kind).decide(0, r).answer for r in (0, 1, None)] == ["not safe"] * 3


def valued(values: dict[int, float], choice: int) -> PythonLabelPolicy:
    return PythonLabelPolicy(
        lambda _: choice, lambda _, labels: [values[label] for label in labels], None
    )


def test_filter_takes_the_best_valued_label() -> None:
    world = Explicit([0, GOAL], [[(0, [1]), (1, [0]), (2, [1])], []], [])
    values = {0: 1.0, 1: 3.0, 2: 3.0}
    system = SafetySystem(world.transitions(), valued(values, 7), inapplicable="filter")
    assert system.decision(0) == 1  # the first of the best
    shield = BlacklistShield(valued(values, 1), {0: [1]})
    assert SafetySystem(world.transitions(), shield).decision(0) == 2
    everything = BlacklistShield(valued(values, 1), {0: [0, 1, 2]})
    assert SafetySystem(world.transitions(), everything).decision(0) == 1
    without_values = BlacklistShield(LabelTable([1]), {0: [1]})
    assert SafetySystem(world.transitions(), without_values).decision(0) == 0


def test_labels_are_tried_in_the_order_of_their_values() -> None:
    """Label 2 is valued next to the policy's own; deciders dive into it before the others."""
    actions = [[(0, [4]), (1, [1]), (2, [2]), (3, [3])], *([(0, [s])] for s in (1, 2, 3)), []]
    world = Explicit([0, 0, 0, 0, UNSAFE], actions, [])
    policy = valued({0: 5.0, 1: 0.0, 2: 2.0, 3: 1.0}, 0)
    for kind in KINDS:
        system = SafetySystem(world.transitions(), policy, order="policy")
        decider = make_safety_decider(system, kind, 0)
        assert decider.decide(0, None).answer == "safe"
        assert dict(zip(*decider.strategy(0, None), strict=True))[0] == 2


def test_labels_are_tried_as_their_worst_outcomes_look() -> None:
    """Label 2 may end near the unsafe state, label 1 is as far from it as the policy's own, which comes first within
    a radius. Without one the policy is not asked."""
    actions = [[(2, [1, 4]), (1, [2]), (3, [3])], *([(3, [s])] for s in (1, 2, 3, 4)), []]
    world = Explicit([0, 0, 0, 0, 0, UNSAFE], actions, [], distances=[1.0, 9.0, 5.0, 5.0, 2.0, 0.0])
    policy = valued({1: 0.0, 2: 1.0, 3: 2.0}, 3)
    for kind in KINDS:
        system = SafetySystem(world.transitions(), policy)
        decider = make_safety_decider(system, kind, 0)
        assert decider.decide(0, None).answer == "safe"
        assert dict(zip(*decider.strategy(0, None), strict=True))[0] == 1
        assert system.policy_calls == 0
        bounded = make_safety_decider(system, kind, 0)
        assert bounded.decide(0, 1).answer == "safe"
        assert dict(zip(*bounded.strategy(0, 1), strict=True))[0] == 3


def test_policy_is_asked_once_a_state() -> None:
    asked: list[int] = []

    def act(id: int) -> int:
        asked.append(id)
        return 0

    world = unit("U8")
    system = SafetySystem(world.transitions(), PythonLabelPolicy(act, None, None))
    for kind in KINDS:
        for radius in (0, 1, None):
            make_safety_decider(system, kind, 0).decide(0, radius)
    explore_envelope(system, [0])
    assert sorted(asked) == sorted(set(asked))
    assert system.policy_calls == len(asked)


def test_errors_of_a_policy_leave_deciders_usable() -> None:
    calls = 0

    def act(_: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("out of order")
        return 0

    world = unit("U4")
    for kind in KINDS:
        calls = 0
        system = SafetySystem(world.transitions(), PythonLabelPolicy(act, None, None))
        decider = make_safety_decider(system, kind, 0)
        with pytest.raises(RuntimeError, match="out of order"):
            decider.decide(0, 2)
        assert decider.decide(0, 2).answer == "safe"
        assert decider.decide(0, 1).answer == "not safe"


def test_batches() -> None:
    batches: list[list[int]] = []

    def act_batch(ids: list[int]) -> list[int | None]:
        batches.append(ids)
        return [0 for _ in ids]

    world = unit("U6")
    policy = PythonLabelPolicy(lambda _: 0, None, act_batch)
    system = SafetySystem(world.transitions(), policy)
    assert explore_envelope(system, [0]).states[0] == 0
    assert batches == [[1, 2]]
    short = PythonLabelPolicy(lambda _: 0, None, lambda _: [0])
    with pytest.raises(ToolError, match="another number of states"):
        explore_envelope(SafetySystem(world.transitions(), short), [0])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (([0], [0, 2], [0], [0, 1], [0]), "offsets of the actions"),
        (([0], [0, 1], [0], [0, 2], [0]), "offsets of the outcomes"),
        (([0], [0, 1], [0], [0, 1], [5]), "outcome is no state"),
        (([9], [0, 0], [], [0], []), "flag"),
        (([0], [0, 0], [], [0], [], [4]), "initial state"),
        (([0], [0, 0], [], [0], [], [], [1.0, 2.0]), "distances"),
    ],
)
def test_broken_tables(tables: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExplicitTransitions(*tables)


def test_broken_models() -> None:
    twice = ExplicitTransitions([0], [0, 2], [1, 1], [0, 1, 2], [0, 0])
    with pytest.raises(InputFormatError, match="stands twice"):
        SafetySystem(twice, LabelTable([1])).actions(0)
    nothing = ExplicitTransitions([0], [0, 1], [1], [0, 0], [])
    with pytest.raises(InputFormatError, match="label 1 has no outcome in state 0"):
        SafetySystem(nothing, LabelTable([1])).actions(0)


def test_radius_needs_a_policy() -> None:
    system = SafetySystem(unit("U2").transitions(), None)
    for kind in KINDS:
        decider = make_safety_decider(system, kind, 0)
        assert decider.decide(0, None).answer == "safe"
        with pytest.raises(ToolError, match="need a policy"):
            decider.decide(0, 1)
