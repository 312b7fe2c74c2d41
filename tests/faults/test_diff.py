"""Run and plan side by side."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.faults.diff import PlanDiff, common_subsequence, diff
from misstep.tasks.task import Task
from support.plans import bad_plan
from support.worlds import COSTS, NAMES, world


def longest(a: list[int], b: list[int]) -> int:
    """The definition."""
    if not a or not b:
        return 0
    best = max(longest(a[1:], b), longest(a, b[1:]))
    return max(best, 1 + longest(a[1:], b[1:])) if a[0] == b[0] else best


sequences = st.lists(st.integers(0, 3), max_size=7)


@given(sequences, sequences)
def test_longest_common_subsequences_agree_with_the_definition(a: list[int], b: list[int]) -> None:
    pairs = common_subsequence(a, b)
    assert len(pairs) == longest(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))


def check(task: Task, run: list[int], plan: list[int], result: PlanDiff) -> None:
    """The segments cover both sequences, in order, and shared ones are equal."""
    i = j = 0
    shared = None
    for segment in result.segments:
        assert (segment.run_first, segment.plan_first) == (i, j)
        i, j = segment.run_last, segment.plan_last
        ours, theirs = run[segment.run_first : i], plan[segment.plan_first : j]
        assert ours or theirs
        assert segment.shared != shared
        shared = segment.shared
        assert not shared or ours == theirs
        assert segment.run_cost == sum(task.cost(op) for op in ours)
        assert segment.plan_cost == sum(task.cost(op) for op in theirs)
    assert (i, j) == (len(run), len(plan))


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_bad_plans_against_cheapest_ones(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    for seed, start in enumerate(here.states(15)):
        if here.h_star(start) == float("inf"):
            continue
        plan = bad_plan(here.space, start, 0, seed)
        run = bad_plan(here.space, start, seed, seed)
        result = diff(here.task, start, run, plan)
        check(here.task, run, plan, result)
        extra = sum(s.run_cost - s.plan_cost for s in result.segments)
        assert extra == sum(map(here.task.cost, run)) - sum(map(here.task.cost, plan))
        assert (result.divergence is None) == (run == plan)
        if result.divergence is not None:
            step = result.divergence.step
            assert run[:step] == plan[:step]
            assert run[step : step + 1] != plan[step : step + 1]
            assert not set(result.divergence.run_facts) & set(result.divergence.plan_facts)


def test_a_detour_in_the_gripper_domain() -> None:
    here = world("gripper-4", ())
    task, start = here.task, here.task.initial_state
    plan = bad_plan(here.space, start, 0, 0)
    there, back = (
        task.operators_named("move room-a room-b")[0],
        task.operators_named("move room-b room-a")[0],
    )
    result = diff(task, start, [there, back, *plan], plan)
    assert [s.shared for s in result.segments] == [False, True]
    assert result.segments[0].run_cost == 2
    divergence = result.divergence
    assert divergence is not None
    assert (divergence.step, divergence.run_operator, divergence.plan_operator) == (
        0,
        there,
        plan[0],
    )
    assert "at-robot(room-b)" in divergence.run_facts
    assert "at-robot(room-a)" in divergence.plan_facts
    assert dict(result.reachieved)["at-robot(room-b)"] >= 2
    assert diff(task, start, plan, plan).divergence is None
    # One is a beginning of the other: the run has ended too early.
    early = diff(task, start, plan[:2], plan).divergence
    assert early is not None
    assert (early.step, early.run_operator, early.plan_operator) == (2, None, plan[2])
