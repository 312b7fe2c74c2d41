"""Properties that hold for every task, on random tasks, all pairs of assignments and exact distances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from misstep._core import MINUS_INFINITY, DominanceCore
from misstep.tasks.task import State, Task
from support.dominance import (
    ATOMIC,
    MERGED,
    ONE_FACTOR,
    VARIANTS,
    Truth,
    Variant,
    check_values,
    max_plus,
    random_raw_task,
    solvable_tasks,
)

CHUNK = 50


@pytest.mark.parametrize("first", range(10_000, 10_500, CHUNK))
def test_values_never_exceed_the_truth(first: int) -> None:
    """D(s, t) <= h*(s) - h*(t) for all assignments s and t with h*(s) finite, by every variant."""
    for seed in range(first, first + CHUNK):
        check_values(seed)


def test_the_value_of_a_state_and_itself_is_zero() -> None:
    for task in solvable_tasks(range(60)):
        for variant in VARIANTS.values():
            assert all((np.diag(table) == 0).all() for table in variant.tables(task))


@pytest.mark.parametrize("name", VARIANTS)
def test_triangle_inequality_where_it_is_claimed(name: str) -> None:
    """The index drops sources because of it. Within each factor it implies the same for sums."""
    claimed = 0
    for task in solvable_tasks(range(400, 500)):
        tables = VARIANTS[name].simulate(VARIANTS[name].factoring(task))
        claimed += tables.transitive
        for i in range(len(tables)):
            table = tables.table(i)
            if tables.transitive:
                assert (max_plus(table, table) <= table).all(), (task.name, i)
    if VARIANTS[name].strict and not VARIANTS[name].noop_tau:
        assert claimed > 0


def test_truncation_breaks_the_triangle_inequality_and_that_is_noticed() -> None:
    broken = 0
    for task in solvable_tasks(range(400, 700)):
        tables = ATOMIC.but(truncate=1).simulate(ATOMIC.factoring(task))
        for i in range(len(tables)):
            table = tables.table(i)
            if not (max_plus(table, table) <= table).all():
                broken += 1
                assert not tables.transitive
    assert broken > 0


@pytest.mark.parametrize("variant", [ATOMIC, ONE_FACTOR.but(reduce_labels=True, shrink=True)])
def test_the_order_of_the_input_does_not_matter(variant: Variant) -> None:
    for seed in range(80):
        raw = random_raw_task(seed, (0, 1, 2, 3))
        shuffled, place, values = raw.shuffled(seed)
        task, other = raw.task(), shuffled.task()
        if not variant.factoring(task).solvable:
            assert not variant.factoring(other).solvable
            continue
        truth = Truth.of(task)
        moved = np.empty_like(truth.states)
        for v, p in enumerate(place):
            moved[:, p] = np.array(values[v])[truth.states[:, v]]
        expected = truth.matrix(variant.function(task))
        assert (variant.function(other).matrix(moved, moved) == expected).all()


def test_more_internal_moves_never_hurt_without_strictness() -> None:
    for task in solvable_tasks(range(100)):
        for base in (ATOMIC.but(strict=False), MERGED.but(strict=False)):
            none, own, recursive = (
                base.tables_of(task, tau=tau, recursive_tau=deep)
                for tau, deep in ((False, False), (True, False), (True, True))
            )
            for a, b, c in zip(none, own, recursive, strict=True):
                assert (a <= b).all()
                assert (b <= c).all()


def test_strictness_only_lowers_values() -> None:
    for task in solvable_tasks(range(100)):
        for a, b in zip(MERGED.tables(task), MERGED.but(strict=False).tables(task), strict=True):
            assert (a <= b).all()


def test_the_values_of_a_single_factor_are_exact() -> None:
    """All labels are internal moves then. Compared with the definition elsewhere, as there is a short cut for it."""
    for task in solvable_tasks(range(100)):
        truth = Truth.of(task)
        known, _, tight = truth.counts(truth.matrix(ONE_FACTOR.function(task)))
        assert known == tight > 0


def test_a_wider_truncation_never_lowers_values() -> None:
    for task in solvable_tasks(range(100)):
        for base in (ATOMIC, MERGED):
            tables = [base.but(truncate=limit).tables(task) for limit in (0, 1, 3, 1000)]
            for lower, higher in pairwise(tables):
                assert all((a <= b).all() for a, b in zip(lower, higher, strict=True))


def test_the_maximum_of_two_factorings() -> None:
    gains = 0
    for task in solvable_tasks(range(60)):
        truth = Truth.of(task)
        parts = [
            v.simulate(v.factoring(task)) for v in (ATOMIC, MERGED) if v.factoring(task).solvable
        ]
        alone = [truth.matrix(DominanceCore(task, [tables])) for tables in parts]
        both = truth.matrix(DominanceCore(task, parts))
        assert (both == np.maximum.reduce(alone)).all()
        assert truth.violations(both) == []
        gains += int((both > alone[-1]).sum())
    assert gains > 0


def test_values_of_states_are_sums_over_factors() -> None:
    for task in solvable_tasks(range(30)):
        truth = Truth.of(task)
        variant = MERGED
        factoring = variant.factoring(task)
        if not factoring.solvable:
            continue
        values = truth.matrix(variant.function(task))
        for s, t in zip(range(0, len(values), 3), range(len(values) - 1, -1, -5), strict=False):
            assert values[s, t] == naive_sum(task, variant, truth, s, t)


def naive_sum(task: Task, variant: Variant, truth: Truth, s: int, t: int) -> int:
    factoring = variant.factoring(task)
    total = 0
    for i, table in enumerate(variant.tables(task)):
        pair = [factoring.abstract(i, State(truth.states[x].tolist())) for x in (s, t)]
        if min(pair) < 0 or table[pair[0], pair[1]] == MINUS_INFINITY:
            return MINUS_INFINITY
        total += int(table[pair[0], pair[1]])
    return total
