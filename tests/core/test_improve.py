"""Plan improvement: every result is a plan, none is worse, and what is called closed is optimal."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from misstep._core import BoundStore, StateSpace, aras, best_elimination, eliminate
from misstep.checking import SasTask, parse_sas, validate_plan
from misstep.tasks.task import State, Task
from support.plans import bad_plan, naive_elimination, wandering_plan
from support.tasks import CONDITIONAL, SMALL, generated_task, random_costs, sas, small_task

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (0,)]
AT_GOAL = sas([2], [1], [(0, 1)], ["0\n1\n0 0 1 0\n1", "0\n1\n0 0 0 1\n1"])


@cache
def variant(name: str, costs: tuple[int, ...]) -> tuple[Task, SasTask, StateSpace]:
    task = Task(CONDITIONAL.encode()) if name == "conditional" else small_task(name)
    if costs:
        task = random_costs(task, seed=7, choices=costs)
    return task, parse_sas(task.sas.decode(), task.name), StateSpace(task, [task.initial_state])


def starts(space: StateSpace, count: int) -> list[int]:
    """Solvable states spread over the space."""
    solvable = np.flatnonzero(np.isfinite(space.h_star))
    return [int(s) for s in solvable[:: max(1, len(solvable) // count)]]


def checked_cost(task: Task, twin: SasTask, start: State, plan: list[int]) -> int:
    report = validate_plan(twin, [task.operator_name(op) for op in plan], state=start.values)
    assert report.valid, report
    return report.cost


def is_subsequence(part: list[int], whole: list[int]) -> bool:
    rest = iter(whole)
    return all(op in rest for op in part)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_elimination(name: str, costs: tuple[int, ...]) -> None:
    task, twin, space = variant(name, costs)
    for seed, s in enumerate(starts(space, 12)):
        start = space.state(s)
        plan = bad_plan(space, start, steps=5 * seed, seed=seed)
        before = checked_cost(task, twin, start, plan)
        results = []
        for greedy in (False, True):
            result = eliminate(task, start, plan, greedy=greedy)
            assert result == naive_elimination(task, start, plan, greedy)
            assert is_subsequence(result, plan)
            assert space.h_star[s] <= checked_cost(task, twin, start, result) <= before
            results.append(result)
        # Nothing is left to greedy elimination. Plain elimination does not look back at earlier operators, so a
        # second pass may find more.
        assert eliminate(task, start, results[1], greedy=True) == results[1]
        best = best_elimination(task, start, plan)
        assert best in results
        cost = {tuple(p): checked_cost(task, twin, start, p) for p in results}
        assert cost[tuple(best)] == min(cost.values())


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_aras_is_optimal_where_it_says_so(name: str, costs: tuple[int, ...]) -> None:
    task, twin, space = variant(name, costs)
    for seed, s in enumerate(starts(space, 5)):
        start = space.state(s)
        plan = bad_plan(space, start, steps=30, seed=seed)
        before = checked_cost(task, twin, start, plan)
        result = aras(task, start, plan, growth=20)
        assert (result.status, result.limit, result.closed) == ("closed", "none", True)
        assert result.initial_cost == before
        assert result.cost == space.h_star[s] == checked_cost(task, twin, start, result.plan)
        # With few states around the plan only, it may be worse than optimal, but never than before.
        last = before
        for iterations in range(4):
            part = aras(task, start, plan, growth=5, iterations=iterations)
            assert part.iterations <= iterations
            assert space.h_star[s] <= part.cost <= last
            assert part.cost == checked_cost(task, twin, start, part.plan)
            assert part.closed or part.limit == "iterations"
            last = part.cost


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_one_graph_for_many_plans(name: str, costs: tuple[int, ...]) -> None:
    task, twin, space = variant(name, costs)
    graph = BoundStore(task)
    for seed, s in enumerate(starts(space, 8)):
        start = space.state(s)
        plan = bad_plan(space, start, steps=20, seed=seed)
        known = graph.plan_cost(start)
        result = graph.improve(
            start, plan, growth=10, iterations=1 + seed % 3, eliminate=seed % 2 == 0
        )
        assert result.cost <= known
        assert graph.plan_cost(start) == result.cost
        if result.closed:
            assert result.cost == space.h_star[s]

        states = graph.states()
        assert len(states) == len(graph) <= len(space)
        bounds = graph.upper_bounds(states)
        for row, bound in zip(states[::3], bounds[::3], strict=True):
            state = State(row.tolist())
            assert graph.plan_cost(state) == bound >= space.h_star[space.find(state)]
            witness = graph.witness(state)
            assert (witness is None) == math.isinf(bound)
            if witness is not None:
                assert checked_cost(task, twin, state, witness) == bound


@pytest.mark.parametrize("name", ["gripper-4", "blocksworld-4"])
def test_a_complete_graph_answers_at_once(name: str) -> None:
    task, _, space = variant(name, (0, 1, 5))
    graph = BoundStore(task)
    plan = bad_plan(space, task.initial_state, steps=20, seed=1)
    assert graph.improve(task.initial_state, plan).closed
    size = (len(graph), graph.transition_count)
    assert graph.complete
    for s in starts(space, 20):
        start = space.state(s)
        again = graph.improve(start, bad_plan(space, start, steps=20, seed=s))
        assert (again.status, again.iterations, again.generated) == ("closed", 0, 0)
        assert again.cost == space.h_star[s]
    assert (len(graph), graph.transition_count) == size


def test_no_new_state_is_no_proof() -> None:
    """An iteration within what is known already must not be taken for a closed neighbourhood."""
    task, _, space = variant("blocksworld-4", ())
    graph = BoundStore(task)
    start = space.state(starts(space, 3)[-1])
    plan = bad_plan(space, start, steps=40, seed=4)
    graph.improve(start, plan, growth=60, iterations=1)
    size = len(graph)
    assert not graph.complete
    result = graph.improve(start, graph.witness(start) or [], growth=1, iterations=1)
    assert len(graph) == size
    assert (result.status, result.limit) == ("limit", "iterations")
    assert graph.improve(start, plan, growth=1).cost == space.h_star[space.find(start)]


def test_same_result_on_repeated_calls() -> None:
    task, _, space = variant("transport-2", (0, 1, 5))
    start = task.initial_state
    plan = bad_plan(space, start, steps=50, seed=2)
    results = [aras(task, start, plan, growth=30, iterations=3) for _ in range(3)]
    graph = BoundStore(task)
    results.append(graph.improve(start, plan, eliminate=True, growth=30, iterations=3))
    assert len({(tuple(r.plan), r.cost, r.generated, r.expansions) for r in results}) == 1
    assert graph.witness(start) == results[0].plan


def test_stop_below() -> None:
    task, _, space = variant("gripper-4", ())
    start = task.initial_state
    best = int(space.h_star[space.find(start)])
    plan = bad_plan(space, start, steps=60, seed=3)
    full = BoundStore(task).improve(start, plan)
    for stop in range(best - 1, len(plan) + 3):
        result = BoundStore(task).improve(start, plan, stop_below=stop)
        if stop > best:
            assert result.status == "below"
            assert result.cost < stop
        else:
            assert result.closed
        assert result.generated <= full.generated


LIMITS: list[tuple[dict[str, float], str]] = [
    ({"seconds": 0.0}, "time"),
    ({"seconds": 0.1}, "time"),
    ({"bytes": 0}, "memory"),
    ({"bytes": 2**21}, "memory"),
    ({"expansions": 0}, "expansions"),
    ({"expansions": 1000}, "expansions"),
    ({"generated": 0}, "generated"),
    ({"generated": 20_000}, "generated"),
    ({"iterations": 0}, "iterations"),
]


@cache
def large_task() -> tuple[Task, list[int]]:
    """A task too large to close within these limits, and a bad plan."""
    task = random_costs(generated_task("gripper", balls=12), seed=1, choices=(1, 3))
    return task, wandering_plan(task, steps=60, seed=1)


@pytest.mark.parametrize(("limit", "name"), LIMITS)
def test_limits_end_it_and_keep_the_best_plan(limit: dict[str, float], name: str) -> None:
    task, plan = large_task()
    twin = parse_sas(task.sas.decode(), task.name)
    start = task.initial_state
    before = checked_cost(task, twin, start, plan)
    graph = BoundStore(task)
    for eliminate_first in (True, False):
        result = graph.improve(start, plan, eliminate=eliminate_first, **limit)  # type: ignore[arg-type]
        assert (result.status, result.limit) == ("limit", name)
        assert checked_cost(task, twin, start, result.plan) == result.cost <= before
        assert graph.plan_cost(start) >= result.cost


def test_progress_is_reported_and_errors_in_it_end_the_work() -> None:
    task, plan = large_task()
    graph = BoundStore(task)
    calls = []
    graph.improve(task.initial_state, plan, seconds=0.4, progress=lambda *n: calls.append(n))
    assert calls

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        graph.improve(task.initial_state, plan, seconds=60, progress=stop)
    # The graph is as good as before, and better.
    bound = graph.plan_cost(task.initial_state)
    assert bound <= sum(task.cost(op) for op in plan)
    assert sum(task.cost(op) for op in graph.witness(task.initial_state) or []) == bound


def test_empty_plan_at_a_goal() -> None:
    task = Task(AT_GOAL.encode())
    start = task.initial_state
    assert eliminate(task, start, []) == best_elimination(task, start, []) == []
    for plan in ([], [0, 1], [0, 1, 0, 1]):
        result = aras(task, start, plan)
        assert (result.plan, result.cost, result.closed) == ([], 0, True)
        assert result.initial_cost == len(plan)
    graph = BoundStore(task)
    assert graph.plan_cost(start) == math.inf
    assert graph.witness(start) is None
    graph.improve(start, [])
    assert graph.plan_cost(start) == 0
    assert graph.witness(start) == []


def test_what_is_no_plan_is_refused() -> None:
    task = Task(AT_GOAL.encode())
    start = task.initial_state
    graph = BoundStore(task)
    wrong = [
        ([0, 0], "step 2: operator \\(op0\\) does not apply: it requires"),
        ([0, 2], "step 2: operator 2 does not exist"),
        ([-1], "step 1: operator -1 does not exist"),
        ([0], "after step 1 in a state that is no goal: the goal requires"),
    ]
    for plan, message in wrong:
        with pytest.raises(ValueError, match=message):
            eliminate(task, start, plan)
        with pytest.raises(ValueError, match=message):
            best_elimination(task, start, plan)
        with pytest.raises(ValueError, match=message):
            aras(task, start, plan)
        with pytest.raises(ValueError, match=message):
            graph.improve(start, plan)
    assert len(graph) == 0
    with pytest.raises(ValueError, match="growth"):
        aras(task, start, [], growth=0)
    with pytest.raises(ValueError, match="variable 0 has no value 5"):
        graph.plan_cost(State([5]))


def test_long_plans_are_not_eliminated_greedily() -> None:
    # Either of the first two will do; plain elimination drops the one that comes first, greedy the expensive one.
    operators = ["0\n1\n0 0 -1 1\n1", "0\n1\n0 0 -1 1\n9", "0\n1\n0 1 -1 0\n0"]
    task = Task(sas([2, 2], [0, 0], [(0, 1)], operators).encode())
    for length, kept in ((300, [0]), (301, [1])):
        plan = [0, 1] + [2] * (length - 2)
        assert best_elimination(task, task.initial_state, plan) == kept
