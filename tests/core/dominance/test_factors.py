"""Factors: complete pruning, merging within limits, exact simplification, degenerate tasks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep._core import StateSpace
from misstep.errors import UnsupportedError
from misstep.tasks.task import State, Task
from support.dominance import (
    ATOMIC,
    MERGED,
    ONE_FACTOR,
    VARIANTS,
    Operator,
    RawTask,
    Truth,
    gripper,
    logistics,
    shown,
    solvable_tasks,
)
from support.tasks import CONDITIONAL, SMALL, generated_task, small_task


def abstract_h(task: Task, states: NDArray[np.int32]) -> list[float]:
    """h* by the product of all factors merged into one."""
    factoring = ONE_FACTOR.but(prune_unreachable=False).factoring(task)
    assert len(factoring) == 1
    distances = factoring.distances(0)
    ids = [factoring.abstract(0, State(row)) for row in states.tolist()]
    return [np.inf if i < 0 else distances[i] for i in ids]


@pytest.mark.parametrize("seed", range(0, 300, 60))
def test_the_product_of_all_factors_is_the_task(seed: int) -> None:
    for task in solvable_tasks(range(seed, seed + 60)):
        truth = Truth.of(task)
        assert abstract_h(task, truth.states) == truth.h_star.tolist()


@pytest.mark.parametrize("seed", range(300, 400, 50))
def test_simplified_factors_keep_all_distances(seed: int) -> None:
    simple = ONE_FACTOR.but(reduce_labels=True, shrink=True, prune_unreachable=False)
    for task in solvable_tasks(range(seed, seed + 50)):
        truth = Truth.of(task)
        factoring = simple.factoring(task)
        assert len(factoring) == 1
        # One factor left: labels count by cost, so states with the same distance may still differ.
        ids = [factoring.abstract(0, State(row)) for row in truth.states.tolist()]
        distances = factoring.distances(0)
        found = [np.inf if i < 0 else float(distances[i]) for i in ids]
        assert found == truth.h_star.tolist()


def test_atomic_factors_by_the_definition() -> None:
    task = RawTask(
        (3, 2, 1),
        (0, 0, 0),
        ((0, 2),),
        (
            Operator(((0, 0, 1),), ((1, 0),)),
            Operator(((0, -1, 2),)),  # an effect without a precondition
            Operator(((0, 1, 1), (1, 0, 1))),  # an effect that changes nothing
            Operator(((1, 1, 0),), ((2, 0),)),  # the variable with one value always agrees
        ),
    ).task()
    factoring = ATOMIC.factoring(task)
    assert factoring.transitions(0) == {0: [(0, 1)], 1: [(0, 2), (1, 2), (2, 2)], 2: [(1, 1)]}
    assert factoring.transitions(1) == {0: [(0, 0)], 2: [(0, 1)], 3: [(1, 0)]}
    assert factoring.transitions(2) == {}
    assert factoring.goals(0) == [False, False, True]
    assert factoring.goals(1) == [True, True]
    assert factoring.distances(0) == [1, 1, 0]


def test_conditional_effects_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="dominance function"):
        ATOMIC.factoring(Task(CONDITIONAL.encode()))


def test_a_label_that_dies_in_the_second_round() -> None:
    """Operator 0 dies first; only then is value 1 of variable 1 out of reach, and operator 1 dead."""
    task = RawTask(
        (3, 2, 2),
        (0, 0, 0),
        ((2, 1),),
        (
            Operator(((1, 0, 1),), ((0, 1),)),  # needs a value that cannot be reached
            Operator(((2, 0, 1),), ((1, 1),)),
            Operator(((2, 0, 1),), (), 5),
        ),
    ).task()
    factoring = ATOMIC.factoring(task)
    assert [factoring.states(i) for i in range(3)] == [1, 1, 2]
    assert [sorted(factoring.transitions(i)) for i in range(3)] == [[], [], [2]]
    assert factoring.distances(2) == [5, 0]
    truth = Truth.of(task)
    assert truth.violations(truth.matrix(ATOMIC.function(task))) == []


@pytest.mark.parametrize("name", VARIANTS)
def test_a_flag_that_breaks_for_good(name: str) -> None:
    """Only `ok` is left in its factor, but `broken` states must not be mapped to a state that is left."""
    task = RawTask(
        (2, 3),
        (0, 0),
        ((0, 0), (1, 2)),
        (Operator(((0, 0, 1), (1, 0, 2))), Operator(((1, 0, 1),)), Operator(((1, 1, 2),))),
    ).task()
    variant = VARIANTS[name]
    factoring = variant.factoring(task)
    if not variant.merge:
        assert factoring.states(0) == 1
    assert all(factoring.abstract(i, State([0, 0])) >= 0 for i in range(len(factoring)))
    function = variant.function(task)
    for s, t in product(range(3), repeat=2):
        assert function.value(State([0, s]), State([1, t])) is None
        assert function.value(State([1, s]), State([0, t])) is None
    truth = Truth.of(task)
    values = truth.matrix(function)
    assert truth.violations(values) == []
    assert (np.diag(values)[np.isfinite(truth.h_star)] == 0).all()


def test_unsolvable_tasks_are_reported() -> None:
    dead = RawTask((2, 2), (0, 0), ((0, 1),), (Operator(((1, 0, 1),)),)).task()
    for variant in VARIANTS.values():
        factoring = variant.factoring(dead)
        assert not factoring.solvable
        with pytest.raises(ValueError, match="unsolvable"):
            variant.simulate(factoring)
    # Found only when the factors are put together.
    excluding = (Operator(((0, 0, 1),), ((1, 0),)), Operator(((1, 0, 1),), ((0, 0),)))
    both = RawTask((2, 2), (0, 0), ((0, 1), (1, 1)), excluding)
    assert ATOMIC.factoring(both.task()).solvable
    assert not ONE_FACTOR.factoring(both.task()).solvable


def chain(length: int) -> tuple[Operator, ...]:
    return tuple(Operator(((0, i, i + 1),)) for i in range(length))


ADVANCE, RESET = Operator(((0, 0, 1),)), Operator(((0, 1, 0),))
FREE_RING = tuple(Operator(((0, i, (i + 1) % 3),), (), 0) for i in range(3))
FREE_MOVES = tuple(
    Operator(((v, i, j),), (), 0) for v in (0, 1) for i in range(3) for j in range(3)
)
DEGENERATE = {
    "one variable": RawTask((4,), (0,), ((0, 3),), chain(3)),
    "one value": RawTask((1, 2), (0, 0), ((1, 1),), (Operator(((1, 0, 1),), ((0, 0),)),)),
    "goal holds": RawTask((2, 2), (1, 0), ((0, 1),), (RESET, Operator(((1, 0, 1),)))),
    "single operator": RawTask((2, 2), (0, 0), ((0, 1),), (ADVANCE,)),
    "no precondition": RawTask(
        (3, 2), (0, 0), ((0, 2),), (Operator(((0, -1, 2), (1, -1, 1)), (), 2),)
    ),
    "loops everywhere": RawTask(
        (2, 2), (0, 0), ((0, 1),), (ADVANCE, Operator(((1, -1, 0),)), Operator(((1, 0, 0),)))
    ),
    "no operator matters": RawTask((2, 2), (1, 0), ((0, 1),), (Operator(((0, 1, 1),)),)),
    "cycle of cost 0": RawTask(
        (4, 2),
        (0, 0),
        ((0, 3), (1, 1)),
        (*FREE_RING, Operator(((0, 2, 3),), ((1, 1),), 0), Operator(((1, 0, 1),), ((0, 1),), 0)),
    ),
    "everything free": RawTask((3, 3), (0, 0), ((0, 2), (1, 2)), FREE_MOVES),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_factors_of_degenerate_tasks(name: str, variant: str) -> None:
    task = DEGENERATE[name].task()
    truth = Truth.of(task)
    factoring = VARIANTS[variant].factoring(task)
    tables = VARIANTS[variant].simulate(factoring)
    values = truth.matrix(VARIANTS[variant].function(task))
    assert truth.violations(values) == []
    if VARIANTS[variant].within_budget:
        expected, _ = VARIANTS[variant].naive(factoring)
        assert [shown(tables.table(i)) for i in range(len(tables))] == [shown(t) for t in expected]


def test_a_factor_without_goal_has_no_positive_values() -> None:
    truck, *_ = ATOMIC.tables(logistics(3, 2))
    assert truck.max() == 0


def test_limits_gate_merges_only() -> None:
    task = gripper(4)
    atomic = ATOMIC.factoring(task)
    assert [atomic.states(i) for i in range(len(atomic))] == [2, 2, 2, 4, 4, 4, 4]
    kept = ONE_FACTOR.but(max_states=1).factoring(task)
    assert (len(kept), kept.merges) == (7, 0)
    some = MERGED.but(max_transitions=200).factoring(task)
    assert 1 < len(some) < 7
    assert some.merges == 7 - len(some)
    variables = [v for i in range(len(some)) for v in some.variables(i)]
    assert sorted(variables) == list(range(7))
    assert ONE_FACTOR.but(max_states=8, max_transitions=10**9).factoring(task).merges > 0


def test_merging_needs_a_goal_variable() -> None:
    operators = tuple(Operator(((v, 0, 1),)) for v in range(4))
    task = RawTask((2,) * 4, (0,) * 4, ((3, 1),), operators).task()
    factoring = MERGED.but(max_transitions=6).factoring(task)
    merged = [
        factoring.variables(i) for i in range(len(factoring)) if len(factoring.variables(i)) > 1
    ]
    assert merged
    assert all(3 in variables for variables in merged)


def test_factorings_do_not_depend_on_anything_but_the_task() -> None:
    task = generated_task("satellite", satellites=2, directions=4, observations=3)
    variant = ONE_FACTOR.but(reduce_labels=True, shrink=True, max_transitions=2000)
    first, second = variant.factoring(task), variant.factoring(task)
    assert len(first) == len(second)
    for i in range(len(first)):
        assert first.variables(i) == second.variables(i)
        assert first.transitions(i) == second.transitions(i)


def test_seventy_thousand_labels() -> None:
    """All moves between 265 places: one variable alone, then with a second one that cares."""
    moves = [(a, b) for a in range(265) for b in range(265) if a != b]
    assert len(moves) > 69_900
    alone = RawTask((265,), (0,), ((0, 264),), tuple(Operator(((0, a, b),)) for a, b in moves))
    (table,) = ATOMIC.tables(alone.task())
    assert table[0].tolist() == [0] * 264 + [1]
    assert table[264].tolist() == [-1] * 264 + [0]

    guarded = [Operator(((0, a, b),), ((1, (a + b) % 2),)) for a, b in moves]
    switches = [Operator(((1, 0, 1),)), Operator(((1, 1, 0),))]
    task = RawTask((265, 2), (0, 0), ((0, 264),), (*guarded, *switches)).task()
    h = [2 if place % 2 else 1 for place in range(264)] + [0]  # with the second variable at 0
    states = np.array([[place, 0] for place in (0, 1, 2, 3, 262, 263, 264)], dtype=np.int32)
    truth = Truth(states, np.array([float(h[place]) for place, _ in states]))
    simple = ONE_FACTOR.but(reduce_labels=True, shrink=True, max_transitions=10**6)
    for variant in (ATOMIC.but(max_steps=10**7), simple):
        assert truth.violations(truth.matrix(variant.function(task))) == []
    assert simple.factoring(task).states(0) < 10


@pytest.mark.parametrize("name", SMALL)
def test_states_of_real_tasks_find_their_factors(name: str) -> None:
    task = small_task(name)
    space = StateSpace(task, [task.initial_state])
    for variant in (ATOMIC, MERGED.but(max_transitions=500)):
        factoring = variant.factoring(task)
        for s in range(0, len(space), max(1, len(space) // 50)):
            ids = [factoring.abstract(i, space.state(s)) for i in range(len(factoring))]
            # Reachable and solvable: nothing of it was pruned.
            assert np.isinf(space.h_star[s]) or min(ids) >= 0
