"""Walks, dead-end filters and the runs of an expansion agree with their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep._core import CounterRandom, HMax, PartialRuns, PolicyGraph, StateSpace, Walks
from misstep.policies.load import load_policy
from misstep.policies.native import NativePolicy
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.fuzzing import POLICIES, sequential_runs, spread
from support.policies import Misbehaving
from support.tasks import SMALL, small_task


def walks(graph: PolicyGraph, dead_ends: str = "hmax", *, strict: bool = True) -> Walks:
    return Walks(graph, dead_ends, expansions=50, space=None, skip_goals=strict, skip_stuck=strict)


def expected_successors(task: Task, state: State, strict: bool) -> list[tuple[int, State]]:
    hmax = HMax(task)
    result = []
    for op in task.applicable(state):
        successor = task.apply(state, op)
        if strict and (task.is_goal(successor) or not task.applicable(successor)):
            continue
        if not math.isinf(hmax(successor)):
            result.append((op, successor))
    return result


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_successors(name: str, strict: bool) -> None:
    task = small_task(name)
    graph = PolicyGraph(task)
    own = walks(graph, strict=strict)
    for values in spread(StateSpace(task, [task.initial_state]), 40).tolist():
        state = State(values)
        id = int(graph.add(np.array([values], dtype=np.int32))[0])
        operators, ids = own.successors(id)
        found = list(zip(operators.tolist(), map(graph.state, ids.tolist()), strict=True))
        assert found == expected_successors(task, state, strict)
        operators, ids = own.successors(id, CounterRandom(1))
        shuffled = list(zip(operators.tolist(), map(graph.state, ids.tolist()), strict=True))
        assert sorted(shuffled) == sorted(found)


def test_uniform_walks_take_every_survivor_equally_often() -> None:
    task = small_task("spanner-3")
    graph = PolicyGraph(task)
    own = walks(graph)
    states = StateSpace(task, [task.initial_state]).states()
    ids = graph.add(states)
    start = max(ids.tolist(), key=lambda id: len(task.applicable(graph.state(id))))
    operators, _ = own.successors(start)
    random = CounterRandom(5)
    draws = 4000
    taken = [own.uniform_walk(start, 1, random)[1][0] for _ in range(draws)]
    assert set(taken) == set(operators.tolist())
    for op in set(taken):
        assert abs(taken.count(op) - draws / len(operators)) < 5 * math.sqrt(draws)
    for seed in range(50):
        end, walk = own.uniform_walk(start, 6, CounterRandom(seed))
        state = graph.state(start)
        for op in walk:
            assert (op, task.apply(state, op)) in expected_successors(task, state, True)
            state = task.apply(state, op)
        assert state == graph.state(end)
        assert len(walk) == 6 or not expected_successors(task, state, True)


@pytest.mark.parametrize("name", SMALL)
def test_no_filter_calls_a_solvable_state_dead(name: str) -> None:
    task = small_task(name)
    space = StateSpace(task, [task.initial_state])
    graph = PolicyGraph(task)
    filters = {kind: walks(graph, kind) for kind in ("none", "hmax", "search")}
    filters["exact"] = Walks(
        graph, "exact", expansions=1, space=space, skip_goals=True, skip_stuck=True
    )
    found = dict.fromkeys(filters, 0)
    for id in range(0, len(space), max(1, len(space) // 200)):
        state, dead = space.state(id), math.isinf(space.h_star[id])
        for kind, own in filters.items():
            assert dead or not own.is_dead(state)
            found[kind] += own.is_dead(state)
        assert filters["exact"].is_dead(state) == dead
    assert found["none"] == 0
    assert found["hmax"] <= found["search"] <= found["exact"]


def test_a_search_that_hits_its_budget_proves_nothing() -> None:
    task = small_task("floortile-2x2")
    space = StateSpace(task, [task.initial_state])
    graph = PolicyGraph(task)
    weak, strong = (
        Walks(graph, "search", expansions=n, space=None, skip_goals=True, skip_stuck=True)
        for n in (1, 10_000)
    )
    dead = [space.state(s) for s in np.flatnonzero(np.isinf(space.h_star)).tolist()]
    assert all(strong.is_dead(state) for state in dead)
    assert sum(weak.is_dead(state) for state in dead) < len(dead)


@pytest.mark.parametrize(("state_budget", "expansion_budget"), [(50, 200), (7, 20), (3, 1), (9, 9)])
@pytest.mark.parametrize("name", ["gripper-4", "blocksworld-4", "visitall-3x3"])
def test_runs_in_lockstep_obey_the_sequential_rule(
    name: str, state_budget: int, expansion_budget: int
) -> None:
    task = small_task(name)
    states = spread(StateSpace(task, [task.initial_state]), 25)
    specs = [load_policy(spec, task) for spec in POLICIES] + [Misbehaving(task, 2)]
    for policy in specs:
        expected = sequential_runs(PolicyRunner(policy), states, state_budget, expansion_budget)
        for native in (False, True):
            runner = PolicyRunner(policy)
            runs = PartialRuns(
                runner.graph, runner.graph.add(states), state_budget, expansion_budget
            )
            if native and isinstance(policy, NativePolicy):
                runs.run_native(policy.native)
            else:
                rounds = 0
                while len(pending := runs.advance()):
                    assert len(set(pending.tolist())) == len(pending)
                    runner.ask(pending)
                    rounds += 1
                assert rounds <= state_budget + 1
            outcomes, steps, _ = runs.ends()
            found = [(OUTCOMES[o], s) for o, s in zip(outcomes, steps.tolist(), strict=True)]
            assert found == expected


def test_policies_of_another_task_are_refused() -> None:
    task, other = small_task("gripper-4"), small_task("ferry-3")
    graph = PolicyGraph(task)
    ids = graph.add(spread(StateSpace(task, [task.initial_state]), 3))
    policy = load_policy("first", other)
    assert isinstance(policy, NativePolicy)
    with pytest.raises(ValueError, match="another task"):
        PartialRuns(graph, ids, 5, 5).run_native(policy.native)
