"""The native network agrees with a naive one, and its results depend on nothing but the state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from misstep._core import available_kernels
from misstep.policies.asnet.policy import ASNetPolicy, core_network
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import Weights
from misstep.policies.policy import FAILED, NO_ACTION, Candidates, States
from misstep.tasks.domains import DOMAINS
from misstep.tasks.task import State, Task
from support.asnet_naive import NaiveASNet

SIZES: dict[str, dict[str, int]] = {
    "blocksworld": {"blocks": 4},
    "childsnack": {"children": 2, "trays": 1, "tables": 2},
    "delivery": {"width": 2, "height": 2, "packages": 2},
    "elevators": {"passengers": 2, "blocks": 1, "floors": 2},
    "ferry": {"cars": 2, "locations": 3},
    "floortile": {"width": 2, "height": 2, "robots": 1},
    "gripper": {"balls": 3},
    "matching-blocksworld": {"blocks": 3},
    "miconic": {"passengers": 2, "floors": 3},
    "reward": {"width": 3, "height": 2, "rewards": 2},
    "rovers": {"rovers": 1, "waypoints": 3},
    "satellite": {"satellites": 1, "instruments": 2, "directions": 3},
    "scanalyzer": {"lines": 2},
    "sokoban": {"width": 3, "height": 3},
    "spanner": {"spanners": 2, "nuts": 2, "locations": 3},
    "storage": {"crates": 2, "width": 2, "height": 2},
    "transport": {"vehicles": 2, "packages": 2, "locations": 3},
    "visitall": {"width": 3, "height": 3},
    "woodworking": {"parts": 2, "woods": 1},
}
Walk = Callable[[Task, int], States]
MakeTask = Callable[..., Task]
Weigh = Callable[..., Weights]


def all_operators(task: Task, count: int) -> Candidates:
    """Every operator as a candidate: logits exist for inapplicable ones as well."""
    n = task.operator_count
    ids = np.tile(np.arange(n, dtype=np.int32), count)
    return Candidates(np.arange(count + 1, dtype=np.int64) * n, ids)


@pytest.mark.parametrize("domain", DOMAINS)
def test_against_naive(domain: str, make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    task = make_task(domain, **SIZES[domain])
    states = np.unique(walk(task, 300), axis=0)[:40]
    weights = weigh(task)
    naive = NaiveASNet(task, weights)
    expected = np.stack([naive.logits(State(row.tolist())) for row in states])
    found = ASNetPolicy(task, weights).logits(states, all_operators(task, len(states)))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-4)


@pytest.mark.parametrize(("hidden", "layers"), [(1, 1), (5, 3), (16, 1), (16, 4), (20, 2), (33, 2)])
def test_sizes_against_naive(
    hidden: int, layers: int, make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    task = make_task("blocksworld", blocks=3)
    states = np.unique(walk(task, 100), axis=0)[:8]
    weights = weigh(task, hidden=hidden, layers=layers)
    naive = NaiveASNet(task, weights)
    expected = np.stack([naive.logits(State(row.tolist())) for row in states])
    found = ASNetPolicy(task, weights).logits(states, all_operators(task, len(states)))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-4)


# A negated atom of a variable with many values becomes several operators of one name, whose
# preconditions the slots do not show: whether they apply cannot be read off the truth of the slots.
HIDDEN_DOMAIN = """
(define (domain rooms) (:requirements :strips :negative-preconditions)
  (:predicates (in ?r) (room ?r) (rung))
  (:action move :parameters (?a ?b) :precondition (and (room ?a) (room ?b) (in ?a))
    :effect (and (not (in ?a)) (in ?b)))
  (:action ring :parameters (?a) :precondition (and (room ?a) (not (in ?a))) :effect (rung)))
"""
HIDDEN_PROBLEM = """
(define (problem p) (:domain rooms) (:objects a b c d)
  (:init (room a) (room b) (room c) (room d) (in a)) (:goal (and (rung) (in c))))
"""


def test_applicability_that_slots_do_not_show(
    load_text: Callable[[str, str], Task], walk: Walk, weigh: Weigh
) -> None:
    task = load_text(HIDDEN_DOMAIN, HIDDEN_PROBLEM)
    assert len(set(task.operator_names)) < task.operator_count
    states = np.unique(walk(task, 100), axis=0)
    weights = weigh(task)
    naive = NaiveASNet(task, weights)
    expected = np.stack([naive.logits(State(row.tolist())) for row in states])
    found = ASNetPolicy(task, weights).logits(states, all_operators(task, len(states)))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-4)


@pytest.mark.parametrize("domain", ["blocksworld", "transport", "satellite"])
def test_all_ways_agree_to_the_bit(
    domain: str, make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    """Instruction sets and table sizes change the speed and nothing else."""
    task = make_task(domain, **SIZES[domain])
    states = walk(task, 200)
    structure = structure_of(task)
    for hidden, layers in ((16, 2), (20, 3)):
        weights = weigh(task, hidden=hidden, layers=layers)
        results = [
            core_network(task, structure, weights, kernels=name, max_table_bits=bits).logits(
                states, *all_operators(task, len(states))
            )
            for name in available_kernels()
            for bits in (0, 3, 12)
        ]
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_independent_of_batch_and_order(
    data: st.DataObject, make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    task = make_task("transport", **SIZES["transport"])
    states = walk(task, 60)
    policy = ASNetPolicy(task, weigh(task))
    whole = policy.decide(states).operators
    order = np.array(data.draw(st.permutations(range(len(states)))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(states) - 1), max_size=8)))
    parts = [policy.decide(part).operators for part in np.split(states[order], cuts)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[order])


def test_candidates(make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    task = make_task("blocksworld", **SIZES["blocksworld"])
    states = walk(task, 50)
    policy = ASNetPolicy(task, weigh(task))
    applicable = policy.all_candidates(states)
    answers = policy.decide(states)
    np.testing.assert_array_equal(answers.operators, policy.decide(states, applicable).operators)
    assert answers.evaluations == 50
    logits = policy.logits(states, applicable)
    for i, chosen in enumerate(answers.operators):
        row = slice(applicable.offsets[i], applicable.offsets[i + 1])
        assert (
            chosen == applicable.operators[row][np.argmax(logits[row])]
        )  # argmax: the first of equals
    # Without the favourite, the second best is taken; without any candidate, none.
    without = [
        [op for op in applicable.operators[a:b] if op != chosen]
        for a, b, chosen in zip(
            applicable.offsets, applicable.offsets[1:], answers.operators, strict=False
        )
    ]
    offsets = np.cumsum([0, *map(len, without)]).astype(np.int64)
    fewer = Candidates(offsets, np.array([op for row in without for op in row], np.int32))
    second = policy.decide(states, fewer).operators
    assert all(
        (op == NO_ACTION and not row) or op in row for op, row in zip(second, without, strict=True)
    )


def test_ties_go_to_the_first_operator(make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    task = make_task("gripper", **SIZES["gripper"])
    weights = weigh(task)
    for tensor in weights.tensors.values():
        tensor[...] = 0
    states = walk(task, 20)
    policy = ASNetPolicy(task, weights)
    offsets, operators = policy.all_candidates(states)
    np.testing.assert_array_equal(policy.decide(states).operators, operators[offsets[:-1]])


def test_overflow_is_a_failure(make_task: MakeTask, weigh: Weigh) -> None:
    task = make_task("gripper", **SIZES["gripper"])
    weights = weigh(task)
    for tensor in weights.tensors.values():
        tensor[...] = 3e38
    answers = ASNetPolicy(task, weights).decide(np.array([task.initial_state.values], np.int32))
    assert answers.operators[0] == FAILED
    assert "infinite or undefined" in answers.messages[0]


def test_bad_arguments(make_task: MakeTask, weigh: Weigh) -> None:
    task = make_task("gripper", **SIZES["gripper"])
    policy = ASNetPolicy(task, weigh(task))
    state = np.array([task.initial_state.values], np.int32)
    with pytest.raises(ValueError, match="variables"):
        policy.decide(state[:, 1:].copy())
    with pytest.raises(ValueError, match="no value"):
        policy.decide(state + 100)
    with pytest.raises(ValueError, match="does not apply"):
        policy.decide(state, Candidates(np.array([0, 1]), np.array([10**6], np.int32)))
    with pytest.raises(ValueError, match="offsets"):
        policy.decide(state, Candidates(np.array([0, 2]), np.array([0], np.int32)))
    with pytest.raises(ValueError, match="instruction set"):
        core_network(task, structure_of(task), weigh(task), kernels="sse9")
    assert len(policy.decide(state[:0]).operators) == 0
