"""The tables agree with the definition, or are below it, for any budget, any costs and any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import MINUS_INFINITY, DominanceCore, dominance_simulation
from misstep.tasks.task import Task
from support.dominance import (
    ATOMIC,
    MERGED,
    ONE_FACTOR,
    VARIANTS,
    Operator,
    RawTask,
    Truth,
    Variant,
    gripper,
    logistics,
    random_raw_task,
    solvable_tasks,
)
from support.tasks import generated_task, random_costs, small_task

MAX_COST = 2**30 - 1


def assert_as_defined(task: Task, variant: Variant) -> None:
    factoring = variant.factoring(task)
    if not factoring.solvable:
        return
    tables = variant.simulate(factoring)
    expected, _ = variant.naive(factoring)
    assert len(tables) == len(expected)
    for i, table in enumerate(expected):
        assert tables.table(i).tolist() == table.tolist(), (task.name, variant, i)


@pytest.mark.parametrize("name", [name for name in VARIANTS if VARIANTS[name].within_budget])
def test_equal_to_the_definition_on_random_tasks(name: str) -> None:
    for task in solvable_tasks(range(150)):
        assert_as_defined(task, VARIANTS[name])


@pytest.mark.parametrize("name", ["atomic", "merged", "simplified", "truncated"])
def test_weights_of_labels_are_as_defined(name: str) -> None:
    finite = 0
    for task in solvable_tasks(range(60)):
        factoring = VARIANTS[name].factoring(task)
        tables = VARIANTS[name].simulate(factoring)
        expected, rounds = VARIANTS[name].naive_labels(factoring)
        assert tables.rounds <= rounds
        for i in range(len(factoring)):
            for (label, answer), weight in factoring.label_weights(tables, i).items():
                column = 0 if answer is None else answer + 1
                value = int(expected[i, label, column])
                assert weight == (None if value <= MINUS_INFINITY else value)
                finite += weight is not None
    assert finite


@pytest.mark.parametrize("variant", ["atomic", "merged", "simplified", "with unreachable", "noop"])
@pytest.mark.parametrize(
    "name", ["blocksworld-4", "childsnack-2", "gripper-4", "satellite-1", "spanner-3", "transport-2"]
)  # fmt: skip
def test_equal_to_the_definition_on_real_tasks(name: str, variant: str) -> None:
    assert_as_defined(small_task(name), VARIANTS[variant])
    assert_as_defined(random_costs(small_task(name), 3, (0, 1, 7)), VARIANTS[variant])


def test_tables_agree_with_the_definition_for_large_costs() -> None:
    """The naive version uses 64 bits without checks; the tables must agree where it does not overflow."""
    for seed in range(60):
        task = random_raw_task(seed, (0, 1, MAX_COST, MAX_COST - 7)).task(f"random-{seed}")
        truncate = 50 * MAX_COST
        assert_as_defined(task, MERGED.but(truncate=truncate))
        variant = ATOMIC.but(truncate=1000)
        assert_as_defined(task, variant)
        factoring = variant.factoring(task)
        if factoring.solvable:
            truth = Truth.of(task)
            assert truth.violations(truth.matrix(variant.function(task))) == []


def test_internal_moves_that_cost_too_much_are_left_out() -> None:
    """Each variable moves with the one before it, which must walk back: the price more than doubles each time."""
    count = 24
    operators = []
    for v in range(count):
        for x in (0, 1):
            for y in (0, 1):
                before = ((v - 1, y, 1 - y),) if v else ()
                operators.append(Operator(((v, x, 1 - x), *before), (), MAX_COST))
    goal = tuple((v, 1) for v in range(count))
    task = RawTask((2,) * count, (1,) * count, goal, tuple(operators)).task()
    tables = ATOMIC.but(truncate=0).tables(task)
    away = [int(table[1, 0]) for table in tables]
    assert away[:3] == [-MAX_COST, -3 * MAX_COST, -7 * MAX_COST]
    assert -(2**41) < min(value for value in away if value > MINUS_INFINITY) < -(2**39)
    assert away[-1] == MINUS_INFINITY


def test_two_bytes_a_pair_where_the_values_fit() -> None:
    for cost, width in ((1, 2), (20_000, 4), (MAX_COST, 8)):
        operators = tuple(Operator(((0, i, i + 1),), (), cost) for i in range(3))
        task = RawTask((4,), (0,), ((0, 3),), operators).task()
        tables = ATOMIC.but(truncate=10**12).simulate(ATOMIC.factoring(task))
        assert tables.factors()[0]["bytes_per_pair"] == width
        assert tables.table(0)[0].tolist() == [0, cost, 2 * cost, 3 * cost]


@pytest.mark.parametrize("variant", ["atomic", "merged", "cancelled", "truncated", "noop"])
def test_threads_change_nothing(variant: str) -> None:
    tasks = [*solvable_tasks(range(40)), gripper(6), small_task("satellite-1")]
    for task in tasks:
        factoring = VARIANTS[variant].factoring(task)
        one = VARIANTS[variant].simulate(factoring)
        four = VARIANTS[variant].but(threads=4).simulate(factoring)
        assert one.factors() == four.factors()
        assert (one.rounds, one.steps) == (four.rounds, four.steps)
        for i in range(len(one)):
            assert one.table(i).tolist() == four.table(i).tolist()


@pytest.mark.parametrize("steps", [1, 100, 2_000, 10**8])
def test_a_factor_out_of_budget_falls_back_to_internal_moves(steps: int) -> None:
    task = gripper(4)
    variant = MERGED.but(max_transitions=400, max_steps=steps)
    factoring = variant.factoring(task)
    tables = variant.simulate(factoring)
    full, taus = variant.naive(factoring)
    fallen = [info["fallback"] for info in tables.factors()]
    assert set(fallen) <= {"none", "steps"}
    assert ("steps" in fallen) == (steps < 10**8)
    for i, reason in enumerate(fallen):
        table = tables.table(i)
        assert (table <= full[i]).all()
        if reason == "steps":
            assert (table <= -taus[i].T)[table > MINUS_INFINITY].all()
    truth = Truth.of(task)
    assert truth.violations(truth.matrix(variant.function(task))) == []


def test_a_factor_with_too_large_a_table_says_nothing_but_itself() -> None:
    steps = tuple(Operator(((0, i, i + 1),)) for i in range(19))
    task = RawTask((20, 2), (0, 0), ((0, 19), (1, 1)), (*steps, Operator(((1, 0, 1),)))).task()
    large, small = (tables := ATOMIC.but(max_cells=399).simulate(ATOMIC.factoring(task))).factors()
    assert (large["fallback"], large["bytes_per_pair"], large["finite"]) == ("cells", 0, 20)
    assert (tables.table(0) == np.where(np.eye(20), 0, MINUS_INFINITY)).all()
    assert small["fallback"] == "none"
    assert tables.table(1).tolist() == [[0, 1], [-1, 0]]
    assert (
        ATOMIC.but(max_cells=400).simulate(ATOMIC.factoring(task)).factors()[0]["fallback"]
        == "none"
    )


def test_a_result_at_the_time_limit_is_sound_and_reported() -> None:
    task = gripper(5)
    factoring = MERGED.factoring(task)
    tables = dominance_simulation(
        factoring, strict=True, tau=True, recursive_tau=True, noop_tau=False, truncate=1000,
        max_drops=10**9, max_steps=10**12, max_cells=2**26, threads=2, seconds=0.0,
    )  # fmt: skip
    assert {info["fallback"] for info in tables.factors()} == {"time"}
    truth_of = MERGED.naive(factoring)[0]
    for i, expected in enumerate(truth_of):
        assert (tables.table(i) <= expected).all()
    assert DominanceCore(task, [tables]).value(task.initial_state, task.initial_state) == 0


def test_an_exception_of_the_progress_callback_ends_the_work() -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    task = generated_task("visitall", width=4, height=4)
    variant = ONE_FACTOR
    with pytest.raises(RuntimeError, match="enough"):
        dominance_simulation(
            variant.factoring(task), strict=True, tau=True, recursive_tau=True, noop_tau=False,
            truncate=1000, max_drops=10**9, max_steps=10**12, max_cells=2**26, threads=2, progress=stop,
        )  # fmt: skip


def test_rounds_are_few_on_structured_tasks() -> None:
    tables = ATOMIC.simulate(ATOMIC.factoring(logistics(5, 5)))
    assert tables.rounds < 10
