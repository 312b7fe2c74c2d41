"""Metrics against numbers worked out by hand, and against naive versions."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.campaigns.metrics import (
    BasicSets,
    Coverage,
    Recall,
    TestedPool,
    basic_sets,
    bugs_over_time,
    joint_recall,
    mean,
    mean_coverage,
    oracle_coverage,
    recall,
    regions,
    severity,
    successors_in,
    unique_pair_fraction,
)
from misstep.campaigns.records import PoolRecord, RunRecord, TestedState, Values
from support.tasks import small_task, walk


def result(
    index: int,
    kind: str | None = None,
    *,
    task: str = "t",
    gap: int | None = 0,
    high: int | None = None,
    cost: int | None = 10,
    verdict: str | None = None,
    seconds: float = 1.0,
) -> TestedState:
    return TestedState(
        task=task,
        index=index,
        state=(0, index),
        facts=(),
        walk=(),
        outcome="goal" if cost is not None else "loop",
        policy_cost=cost,
        verdict=verdict or ("BUG" if kind else "UNKNOWN"),
        kind=kind,
        gap=(gap, high),
        upper_bound=None,
        lower_bound=0,
        oracle=None,
        witness=None,
        seconds=seconds,
    )


def test_basic_sets_and_recall() -> None:
    pool = [PoolRecord("t", i, (0, i)) for i in range(10)]
    # Six solved, two failing, two never run.
    runs = [RunRecord("t", (0, i), "goal" if i < 6 else "loop", 1, 1) for i in range(8)]
    states = [
        result(0, "costly"),
        result(1, "costly"),
        result(2, verdict="OPTIMAL"),
        result(3),
        result(6, "fails"),
        result(7, "unclassified"),
    ]
    sets = basic_sets(pool, runs, states)
    assert sets == BasicSets(10, 6, 6, 1, 2, 1, 1, 1)
    assert sets.bugs == 4
    assert recall(sets) == Recall(fails=1 / 4, costly=2 / 6)
    assert recall(sets, fails_over="pool") == Recall(fails=1 / 10, costly=2 / 6)
    assert recall(basic_sets([], [], [])) == Recall(None, None)
    assert recall(basic_sets(pool[:6], runs[:6], [])) == Recall(None, 0.0)
    assert mean([0.5, None, 1.0]) == 0.75
    assert mean([None]) is None


def test_joint_recall() -> None:
    a = [result(i, "costly" if i < 20 else None) for i in range(40)]
    b = [result(i, "costly" if i % 2 else None) for i in range(30)]
    slow = [result(i, "costly") for i in range(10)]
    found = joint_recall({"a": a, "b": b, "slow": slow})
    # slow is dropped before J is formed, so J has 30 states: 20 bugs of a, 15 of b.
    assert found.states == 30
    assert found.recall == {"a": 20 / 30, "b": 0.5, "slow": None}
    assert found.dropped == ("slow",)
    strict = joint_recall({"a": a, "b": b, "slow": slow}, min_states_a_task=10)
    assert (strict.states, strict.recall["slow"], strict.dropped) == (10, 1.0, ())
    # Two tasks: 40 and 30 states are fewer than 25 a task for b only if it has none in the second one.
    other = [result(i, task="u") for i in range(10)]
    assert joint_recall({"a": a + other, "b": b}).dropped == ("b",)
    assert joint_recall({"a": a}, tasks=2).recall == {"a": None}
    assert joint_recall({}).states == 0
    # Equal states of different tasks are different states.
    both = joint_recall({"a": [result(0)], "b": [result(0, task="u")]}, min_states_a_task=0)
    assert (both.states, both.recall) == (0, {"a": None, "b": None})


def test_oracle_coverage_cuts_to_equal_prefixes() -> None:
    def bugs(*indices: int) -> list[TestedState]:
        return [result(i, "costly") for i in indices]

    pools = {
        "none": {"t": TestedPool(10, bugs(0, 8)), "u": TestedPool(3, bugs(1))},
        "loop": {"t": TestedPool(5, bugs(0, 1, 4)), "u": TestedPool(9, bugs(2, 3, 8))},
    }
    assert oracle_coverage(pools) == {
        "none": Coverage(8, 2, 2 / 8),
        "loop": Coverage(8, 4, 4 / 8),
    }
    del pools["loop"]["t"]
    assert oracle_coverage(pools)["none"] == Coverage(3, 1, 1 / 3)
    assert oracle_coverage({"none": {}}) == {"none": Coverage(0, 0, None)}
    assert mean_coverage([Coverage(8, 2, 0.25), Coverage(7, 7, 1.0)]) == Coverage(7.5, 4.5, 0.625)
    assert mean_coverage([]) == Coverage(0, 0, None)


def naive_unique(bugs: set[Values], pool: set[Values]) -> float | None:
    def own(state: Values) -> bool:
        return any(
            all((other[v], other[w]) != (state[v], state[w]) for other in pool - {state})
            for v, w in combinations(range(len(state)), 2)
        )

    return sum(map(own, bugs)) / len(bugs) if bugs else None


def test_unique_pairs_by_hand() -> None:
    pool = [(0, 0), (0, 1), (1, 0)]
    assert unique_pair_fraction(pool) == 1.0
    # All pairs of (0, 0, 0) occur elsewhere: (0,0,_) in the second, (0,_,0) in the third, (_,0,0) in the fourth.
    states = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert unique_pair_fraction(states[:1], states) == 0.0
    assert unique_pair_fraction(states[:1]) == 1.0
    assert unique_pair_fraction(states) == 3 / 4
    assert unique_pair_fraction([], states) is None


STATE = st.tuples(*[st.integers(0, 2)] * 4)


@given(st.lists(STATE), st.lists(STATE))
def test_unique_pairs(bugs: list[Values], others: list[Values]) -> None:
    pool = set(bugs) | set(others)
    assert unique_pair_fraction(bugs, bugs + others) == naive_unique(set(bugs), pool)
    assert unique_pair_fraction(bugs) == naive_unique(set(bugs), set(bugs))


def naive_regions(states: set[Values], edges: set[tuple[Values, Values]]) -> set[frozenset[Values]]:
    found = set()
    for start in states:
        region = {start}
        while True:
            more = {
                b for x, y in edges for a, b in ((x, y), (y, x)) if a in region and b in states
            } - region
            if not more:
                break
            region |= more
        found.add(frozenset(region))
    return found


@given(
    st.sets(st.tuples(st.integers(0, 12))), st.sets(st.tuples(*[st.tuples(st.integers(0, 12))] * 2))
)
def test_regions(states: set[Values], edges: set[tuple[Values, Values]]) -> None:
    found = regions(states, lambda s: [y for x, y in edges if x == s])
    assert {frozenset(region) for region in found} == naive_regions(states, edges)
    assert sorted(s for region in found for s in region) == sorted(states)
    assert [len(region) for region in found] == sorted(map(len, found), reverse=True)


def test_regions_of_a_task() -> None:
    task = small_task("visitall-3x3")
    path = [tuple(state.values) for state in walk(task, 6, seed=3)]
    successors = successors_in(task)
    assert all(b in set(successors(a)) for a, b in pairwise(path))
    assert len(regions(set(path), successors)) == 1
    assert regions([], successors) == []


def test_bugs_over_time() -> None:
    states = [
        result(0, seconds=1),
        result(1, "costly", seconds=2),
        result(3, "fails", seconds=4),
        result(0, "costly", task="u", seconds=3),
        result(1, "costly", task="u", seconds=5),
    ]
    # Clocks: t reports at 3 and 7, u at 3 and 8.
    assert bugs_over_time(reversed(states)) == [(3, 2), (7, 3), (8, 4)]
    pool = [PoolRecord("t", i, (0, i), seconds=10.0 * i) for i in range(4)]
    # t: 0 + 1, + 10 + 2 = 13, + 20 + 30 + 4 = 67.
    assert bugs_over_time(states, pool) == [(3, 1), (8, 2), (13, 3), (67, 4)]
    assert bugs_over_time([]) == []


def test_severity() -> None:
    states = [
        result(0, "costly", gap=4, high=5, cost=100),  # 4 %
        result(1, "costly", gap=5, high=5, cost=100),  # 5 %
        result(2, "costly", gap=10, high=150, cost=40),  # 25 %
        result(3, "costly", gap=100, high=100, cost=100),  # 100 %
        result(4, "costly", gap=99, high=None, cost=100),
        result(5, "fails", gap=None, cost=None),
        result(6, "unclassified", gap=20, cost=None),
        result(7, gap=50),
    ]
    found = severity(states)
    assert list(found.absolute.items()) == [
        ("<5", 1),
        ("5-10", 1),
        ("10-20", 1),
        ("20-50", 1),
        ("50-100", 1),
        (">=100", 1),
        ("inf", 1),
    ]
    assert list(found.relative.values()) == [1, 1, 0, 1, 2]
    assert (found.max_gap, found.max_relative) == (100, 100)
    assert found.mean_gap == pytest.approx((4 + 5 + 10 + 100 + 99 + 20) / 6)
    assert found.mean_relative == pytest.approx((4 + 5 + 25 + 100 + 99) / 5)
    assert severity(states, proven=False).absolute["inf"] == 3
    nothing = severity([])
    assert (nothing.max_gap, nothing.mean_gap, nothing.mean_relative) == (None, None, None)
