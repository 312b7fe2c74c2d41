"""The undo oracle on whole walks: where all operators can be undone, it decides every state where the policy fails."""

from __future__ import annotations

import math

import pytest

from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.pool import Pool, PoolEntry, whole_walk
from misstep.fuzzing.settings import Settings
from misstep.oracles import Walk, Workbench, parse_oracle
from misstep.oracles.undo import walk_states
from misstep.tasks.task import Task
from support.oracles import variant, workbench
from support.tasks import sas, small_task


def pool_of(task: Task, size: int = 40) -> Pool:
    settings = Settings(bias="none", max_states=size, max_iterations=10_000, time_limit=None)
    return fuzz(task, None, settings, 3)


def decided(bench: Workbench, pool: Pool, spec: str = "undo") -> tuple[int, int]:
    """How often the policy fails in the pool, and how often the oracle has proven it a bug."""
    oracle = parse_oracle(spec, bench)
    failures = bugs = 0
    for entry in pool:
        verdict = oracle.test(entry.state, walk=Walk(*whole_walk(pool.entries, entry)))
        if bench.policy_cost(entry.state).reaches_goal:
            continue
        failures += 1
        bugs += verdict.is_bug
        if verdict.is_bug:
            bench.check(verdict)
    return failures, bugs


@pytest.mark.parametrize("policy", ["first", "random:7", "noisy:0.3:5+heuristic:ff"])
@pytest.mark.parametrize("name", ["blocksworld-4", "ferry-3", "gripper-4", "transport-2"])
def test_all_failures_are_decided_where_all_operators_can_be_undone(name: str, policy: str) -> None:
    task = small_task(name)
    bench = workbench(task, policy)
    assert bench.undoer.all_undoable
    failures, bugs = decided(bench, pool_of(task))
    assert failures == bugs
    assert failures or policy.startswith("noisy")


def test_the_search_takes_longer_where_it_decides_everything() -> None:
    task = small_task("transport-2")
    pool = pool_of(task)
    needed = workbench(task, "first")
    entry = pool[-1]
    walk = Walk(*whole_walk(pool.entries, entry))
    effort = parse_oracle("undo", needed).test(entry.state, walk=walk).effort
    few = effort.evaluations // 10 + 1
    bench = workbench(task, "first")
    verdict = parse_oracle(f"undo(evaluations={few})", bench).test(entry.state, walk=walk)
    assert verdict.is_bug
    assert verdict.effort.evaluations > few
    assert not verdict.limits
    fewer = workbench(task, "first")
    verdict = parse_oracle("undo(evaluations=1)", fewer).test(entry.state, walk=walk)
    assert verdict.limits == ("undo: evaluations",)


def test_nothing_is_searched_where_there_is_no_way_back() -> None:
    task, _ = variant("spanner-3", ())
    start = task.initial_state
    bench = workbench(task, "misbehaving")
    op = task.applicable(start)[0]
    verdict = parse_oracle("undo", bench).test(task.apply(start, op), walk=Walk(start, (op,)))
    assert verdict.effort.evaluations == 0


def test_without_a_search_only_the_policy_gives_plans() -> None:
    task = small_task("ferry-3")
    failures, bugs = decided(workbench(task, "first"), pool_of(task), "undo(evaluations=0)")
    assert failures
    assert not bugs


def test_dead_ends_stay_undecided() -> None:
    task, space = variant("spanner-3", ())
    bench = workbench(task, "random:7")
    assert not bench.undoer.all_undoable
    oracle = parse_oracle("undo", bench)
    for entry in (pool := pool_of(task)):
        verdict = oracle.test(entry.state, walk=Walk(*whole_walk(pool.entries, entry)))
        assert not (verdict.is_bug and math.isinf(space.h_star[space.find(entry.state)]))


def test_the_initial_state_is_searched_once() -> None:
    """Its plan, or the lack of one, serves all walks."""
    # Two steps to the goal, and a step into a place that nothing leads out of.
    steps = ["0\n1\n0 0 0 1\n1", "0\n1\n0 0 1 2\n1", "0\n1\n0 0 1 3\n1", "0\n1\n0 0 1 0\n1"]
    task = Task(sas([4], [0], [(0, 2)], steps).encode())
    bench = workbench(task, "misbehaving")
    oracle = parse_oracle("undo", bench)
    start = task.initial_state
    first = oracle.test(task.apply(start, 0), walk=Walk(start, (0,)))
    dead = walk_states(task, start, [0, 2])[-1]
    second = oracle.test(dead, walk=Walk(start, (0, 2)))
    assert math.isfinite(first.upper_bound)
    assert math.isinf(second.upper_bound)
    assert second.effort.evaluations == 0

    hopeless = Task(sas([4], [3], [(0, 2)], [*steps, "0\n1\n0 0 3 3\n1"]).encode())
    bench = workbench(hopeless, "first")
    oracle = parse_oracle("undo", bench)
    state = hopeless.initial_state
    efforts = [oracle.test(state, walk=Walk(state, ())).effort.evaluations for _ in range(2)]
    assert efforts == [2, 0]  # hill-climbing, and greedy search, see a dead end at once


def test_walks_of_the_pool_lead_to_their_states() -> None:
    task = small_task("blocksworld-4")
    pool = pool_of(task)
    assert any(entry.reference for entry in pool)
    for entry in pool:
        start, operators = whole_walk(pool.entries, entry)
        assert start == task.initial_state
        assert walk_states(task, start, operators)[-1] == entry.state
    elsewhere = PoolEntry(pool[5].state, 0, (), 0)
    assert whole_walk(pool.entries, elsewhere) == (pool[5].state, ())
