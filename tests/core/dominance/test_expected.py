"""Tables and numbers that were computed by hand: the worked example and three small domains."""

from __future__ import annotations

import pytest

from misstep.tasks.task import State, Task
from support.dominance import (
    ATOMIC,
    MERGED,
    ONE_FACTOR,
    Truth,
    Variant,
    gripper,
    logistics,
    shown,
    visitall_2x2,
)

# Truck {A, B}, package {A, B, in the truck}, goal: package at B.
EXAMPLE = logistics(2, 1, goal=1)


def test_distances_and_internal_moves_of_the_example() -> None:
    factoring = ATOMIC.factoring(EXAMPLE)
    assert [factoring.distances(i) for i in range(2)] == [[0, 0], [2, 0, 1]]
    _, (truck, package) = ATOMIC.naive(factoring)
    assert truck.tolist() == [[0, 1], [1, 0]]
    assert package.tolist() == [[0, 6, 3], [6, 0, 3], [3, 3, 0]]
    assert package[:, 1].tolist() == [6, 0, 3]  # to the goal
    # There and back, as other factors have to pay for it.
    assert (2 * truck.max(), 2 * package.max()) == (2, 12)


DRIVES = range(2)
LOAD_A, UNLOAD_A, LOAD_B, UNLOAD_B = range(2, 6)


def test_weights_of_labels_of_the_example() -> None:
    """The value of the truck's answers to the package, and the other way round; None stands for doing nothing."""
    factoring = ATOMIC.factoring(EXAMPLE)
    tables = ATOMIC.simulate(factoring)
    truck, package = (factoring.label_weights(tables, i) for i in range(2))
    to_nothing = {LOAD_A: -3, UNLOAD_A: 1, LOAD_B: 1, UNLOAD_B: -3, **dict.fromkeys(DRIVES, 0)}
    assert {label: truck[label, None] for label in to_nothing} == to_nothing
    assert truck[UNLOAD_A, UNLOAD_B] == 2
    assert truck[UNLOAD_B, UNLOAD_A] == -6
    for load, unload in ((LOAD_A, UNLOAD_A), (LOAD_B, UNLOAD_B)):
        assert package[load, unload] == package[unload, load] == 0
        assert package[load, None] == package[unload, None] == 0
    assert package[LOAD_A, LOAD_B] is None  # the truck is elsewhere
    with pytest.raises(ValueError, match="another factoring"):
        factoring.label_weights(ONE_FACTOR.simulate(ONE_FACTOR.factoring(EXAMPLE)), 0)
    with pytest.raises(IndexError):
        factoring.label_weights(tables, 2)


def test_rounds_of_the_example() -> None:
    """By the definition, a third round finds that the drives, worth less after the second, matter to nobody."""
    factoring = ATOMIC.factoring(EXAMPLE)
    assert ATOMIC.naive_labels(factoring)[1] == 3
    assert ATOMIC.simulate(factoring).rounds == 2


def test_atomic_tables_of_the_example() -> None:
    truck, package = ATOMIC.tables(EXAMPLE)
    assert shown(truck) == [[0, -1], [-1, 0]]
    assert shown(package) == [[0, 2, 1], [-6, 0, -3], [-3, 1, 0]]


def test_example_without_recursive_internal_moves() -> None:
    variant = ATOMIC.but(recursive_tau=False)
    truck, package = variant.tables(EXAMPLE)
    assert shown(truck) == [[0, -1], [-1, 0]]
    assert shown(package) == [[0, 2, 1], [None, 0, None], [None, 1, 0]]
    truth = Truth.of(EXAMPLE)
    assert truth.counts(truth.matrix(variant.function(EXAMPLE)))[:2] == (24, 36)


def test_one_factor_of_the_example_is_exact() -> None:
    truth = Truth.of(EXAMPLE)
    assert truth.h_star.tolist() == [3, 0, 2, 4, 0, 1]
    values = truth.matrix(ONE_FACTOR.function(EXAMPLE))
    assert values[0].tolist() == [0, 3, 1, -1, 3, 2]
    assert (values == truth.h_star[:, None] - truth.h_star[None, :]).all()
    assert truth.counts(values) == (36, 36, 36)


def test_the_example_as_an_oracle_sees_it() -> None:
    function = ATOMIC.function(EXAMPLE)
    assert function.value(State([0, 0]), State([1, 0])) == -1  # u(t) <= 3 + 1
    # Driving away with the package: the atomic factors prove nothing, the merged one a loss of 2.
    before, after = State([1, 2]), State([0, 2])
    drive = EXAMPLE.cost(1)
    assert function.value(after, before) == -1 == -drive
    assert ONE_FACTOR.function(EXAMPLE).value(after, before) == 1 == 2 - drive


@pytest.mark.parametrize(
    ("task", "variant", "sizes", "counts"),
    [
        (EXAMPLE, ATOMIC, [2, 3], (36, 36, 11)),
        (EXAMPLE, ONE_FACTOR, [6], (36, 36, 36)),
        (gripper(1), ATOMIC, [2, 2, 2, 4], (128, 960, 87)),
        (gripper(1), ONE_FACTOR, [8], (64, 960, 64)),
        (visitall_2x2(), ATOMIC, [4, 2, 2, 2], (324, 1024, 108)),
        (visitall_2x2(), ATOMIC.but(noop_tau=True), [4, 2, 2, 2], (1024, 1024, 112)),
        (visitall_2x2(), ONE_FACTOR, [18], (324, 1024, 324)),
    ],
)
def test_numbers_of_pairs(
    task: Task, variant: Variant, sizes: list[int], counts: tuple[int, int, int]
) -> None:
    factoring = variant.factoring(task)
    assert [factoring.states(i) for i in range(len(factoring))] == sizes
    truth = Truth.of(task)
    values = truth.matrix(variant.function(task))
    assert truth.counts(values) == counts
    assert truth.violations(values) == []


def test_tables_of_gripper() -> None:
    robot, left, right, ball = ATOMIC.tables(gripper(1))
    assert shown(robot) == [[0, -1], [-1, 0]]
    assert shown(left) == shown(right) == [[0, None], [0, 0]]
    assert shown(ball) == [[0 if s == t else None for t in range(4)] for s in range(4)]


def test_tables_of_visitall() -> None:
    robot, *flags = ATOMIC.tables(visitall_2x2())
    no = None
    assert shown(robot) == [[0, -1, -1, 0], [no, 0, 0, no], [no, 0, 0, no], [0, -1, -1, 0]]
    assert all(shown(flag) == [[0, 0], [no, 0]] for flag in flags)
    robot, *flags = ATOMIC.but(noop_tau=True).tables(visitall_2x2())
    assert shown(robot) == [[0, -1, -1, 0], [-1, 0, 0, -1], [-1, 0, 0, -1], [0, -1, -1, 0]]
    assert all(shown(flag) == [[0, 0], [-5, 0]] for flag in flags)


def test_gripper_with_two_balls_shrinks_to_what_matters() -> None:
    """The balls are interchangeable: with both simplifications one small factor is exact."""
    task = gripper(2)
    plain = ONE_FACTOR.factoring(task)
    simple = ONE_FACTOR.but(reduce_labels=True, shrink=True)
    assert len(plain) == len(simple.factoring(task)) == 1
    assert simple.factoring(task).states(0) < plain.states(0)
    truth = Truth.of(task)
    values = truth.matrix(simple.function(task))
    assert truth.violations(values) == []
    known, _, tight = truth.counts(values)
    assert known == tight >= truth.counts(truth.matrix(MERGED.function(task)))[2]
