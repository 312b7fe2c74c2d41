"""Metrics agree with numbers computed by hand and with naive versions."""

from __future__ import annotations

import json
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
    oracle_coverage,
    recall,
    regions,
    severity,
    successors_in,
    unique_pair_fraction,
)
from misstep.campaigns.records import Effort, Opinion, Record, Times
from misstep.campaigns.rows import Values
from misstep.campaigns.testing import test as run_test
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from support.records import WITHOUT
from support.records import record as made_up
from support.tasks import small_task, walk


def record(
    number: int,
    kind: str | None = None,
    *,
    task: str = "t",
    gap: int | None = 0,
    high: int | None = None,
    cost: int | None = 10,
    verdict: str | None = None,
    at: float = 1.0,
    oracles: dict[str, bool] | None = None,
) -> Record:
    verdict = verdict or ("BUG" if kind else "UNKNOWN")
    effort = Effort(0, 0)
    opinions = tuple(
        Opinion(
            oracle,
            None,
            "BUG" if bug else "UNKNOWN",
            kind,
            (gap, high),
            None,
            (0, None),
            WITHOUT,
            effort,
            1.0,
            at,
        )
        for oracle, bug in (oracles or {}).items()
    )
    return made_up(
        number,
        task=task,
        outcome="goal" if cost is not None else "loop",
        cost=cost,
        verdict=verdict,
        state=(0, number),
        kind=kind,
        gap=(gap, high),
        bounds=(0, None),
        oracle="astar",
        verdicts=opinions,
        effort=effort,
        times=Times(0.0, 0.0, 1.0),
        at=at,
    )


def test_basic_sets_and_recall_by_hand() -> None:
    # Six solved, two failing, two of the pool never run.
    states = [
        record(0, "costly"),
        record(1, "costly"),
        record(2, verdict="OPTIMAL"),
        record(3),
        record(4),
        record(5, verdict="OPTIMAL"),
        record(6, "fails", cost=None),
        record(7, "unclassified", cost=None),
    ]
    sets = basic_sets(states, 10)
    assert sets == BasicSets(10, 6, 8, 1, 2, 0, 1, 0, 2, 2, 0)
    assert sets.bugs == 4
    assert basic_sets(states).pool == 8
    assert recall(sets) == Recall(fails=1 / 4, costly=2 / 6)
    assert recall(sets, fails_over="pool") == Recall(fails=1 / 10, costly=2 / 6)
    assert recall(basic_sets([])) == Recall(None, None)
    assert recall(basic_sets(states[2:6])) == Recall(None, 0.0)
    assert mean([0.5, None, 1.0]) == 0.75
    assert mean([None]) is None


def judged(by: dict[str, list[bool]], task: str = "t") -> list[Record]:
    """A record a state; of each oracle, whether its first states are bugs."""
    return [
        record(i, task=task, oracles={o: bugs[i] for o, bugs in by.items() if i < len(bugs)})
        for i in range(max(map(len, by.values())))
    ]


def test_joint_recall_by_hand() -> None:
    a, b = [i < 20 for i in range(40)], [bool(i % 2) for i in range(30)]
    records = judged({"a": a, "b": b, "slow": [True] * 10})
    found = joint_recall(records)
    # slow is dropped before J is formed, so J has 30 states: 20 bugs of a, 15 of b.
    assert found.states == 30
    assert found.recall == {"a": 20 / 30, "b": 0.5, "slow": None}
    assert found.dropped == ("slow",)
    strict = joint_recall(records, min_states_a_task=10)
    assert (strict.states, strict.recall["slow"], strict.dropped) == (10, 1.0, ())
    # Two tasks: 40 and 30 states are fewer than 25 a task for b only if it has none in the second one.
    other = judged({"a": [False] * 10}, task="u")
    assert joint_recall(judged({"a": a, "b": b}) + other).dropped == ("b",)
    assert joint_recall(judged({"a": a}), tasks=2).recall == {"a": None}
    assert joint_recall([]).states == 0
    # Equal states of different tasks are different states.
    apart = judged({"a": [False]}) + judged({"b": [False]}, task="u")
    both = joint_recall(apart, min_states_a_task=0)
    assert (both.states, both.recall) == (0, {"a": None, "b": None})


def test_oracle_coverage_cuts_to_equal_prefixes() -> None:
    pools = {
        "none": {"t": TestedPool(10, (0, 8)), "u": TestedPool(3, (1,))},
        "loop": {"t": TestedPool(5, (0, 1, 4)), "u": TestedPool(9, (2, 3, 8))},
    }
    assert oracle_coverage(pools) == {
        "none": Coverage(8, 2, 2 / 8),
        "loop": Coverage(8, 4, 4 / 8),
    }
    del pools["loop"]["t"]
    assert oracle_coverage(pools)["none"] == Coverage(3, 1, 1 / 3)
    assert oracle_coverage({"none": {}}) == {"none": Coverage(0, 0, None)}


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
def test_unique_pairs_agree_with_the_naive_version(
    bugs: list[Values], others: list[Values]
) -> None:
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
        record(0, at=1),
        record(1, "costly", at=3),
        record(3, "fails", at=7),
        record(0, "costly", task="u", at=3),
        record(1, "costly", task="u", at=8),
    ]
    assert bugs_over_time(reversed(states)) == [(3, 2), (7, 3), (8, 4)]
    assert bugs_over_time([]) == []


def test_shares_of_severities_by_hand() -> None:
    states = [
        record(0, "costly", gap=4, high=5, cost=100),  # 4 %
        record(1, "costly", gap=5, high=5, cost=100),  # 5 %
        record(2, "costly", gap=10, high=150, cost=40),  # 25 %
        record(3, "costly", gap=100, high=100, cost=100),  # 100 %
        record(4, "costly", gap=99, high=None, cost=100),
        record(5, "fails", gap=None, cost=None),
        record(6, "unclassified", gap=20, cost=None),
        record(7, gap=50),
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


def test_metrics_of_a_campaign() -> None:
    tasks = [load_task(generate("blocksworld", blocks=4)), load_task(generate("gripper"))]
    found = run_test(tasks, "noisy:0.3:5+optimal", oracle="astar", pool=20)
    found.judge("undo")
    metrics = found.metrics(regions=True)
    json.dumps(metrics)
    bugs = len(found.bugs)
    assert bugs > 0
    assert metrics["sets"]["bugs"] == metrics["bugs_over_time"][-1][1] == bugs
    assert metrics["sets"]["tested"] == metrics["sets"]["pool"] == len(found.records)
    assert metrics["coverage"] == bugs / len(found.records)
    assert sum(metrics["severity"]["absolute"].values()) == bugs
    assert metrics["oracles"]["states"] == len(found.records)
    assert metrics["oracles"]["recall"]["astar"] == bugs / len(found.records)
    assert metrics["oracles"]["recall"]["undo"] <= metrics["oracles"]["recall"]["astar"]
    assert metrics["radius"] is None
    for task in tasks:
        own = metrics["tasks"][task.name]
        assert own["bugs"] == [bug.number for bug in found.bugs if bug.task == task.name]
        assert sum(own["regions"]) == own["sets"]["bugs"]
        assert 0 <= own["unique_pairs"] <= 1
        # A* decides every state, so every failing state with a plan is convicted.
        assert own["recall"]["fails"] in (None, 1.0)
    assert found.metrics()["tasks"][tasks[0].name]["regions"] is None


def test_metrics_of_a_model() -> None:
    found = run_test(generate("two-way-line", cells=4, packages=1), "first", runs=20)
    metrics = found.metrics(regions=True)
    json.dumps(metrics)
    assert metrics["sets"]["bugs"] == metrics["sets"]["unsafe"] == len(found.bugs)
    assert sum(metrics["radius"].values()) == len(found.bugs)
    assert metrics["recall"] is metrics["severity"] is None
    assert sum(metrics["sets"][kind] for kind in ("unsafe", "sound", "unknown")) == len(found)
