"""Plans that go back along a walk: the independent checker accepts them, and they are found only where they exist."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from misstep._core import CounterRandom, StateSpace
from misstep.checking import SasTask, parse_sas, validate_plan
from misstep.oracles.undo import Undoer, Undoing, Way, walk_states
from misstep.tasks.task import State, Task
from support.plans import bad_plan
from support.preorder import StatePreorder
from support.tasks import CONDITIONAL, SMALL, random_costs, rows, sas, small_task
from support.undoing import NaiveUndoer

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (0,), (1, 2, 50)]


@cache
def variant(name: str, costs: tuple[int, ...]) -> tuple[Task, SasTask, StateSpace]:
    task = Task(CONDITIONAL.encode()) if name == "conditional" else small_task(name)
    if costs:
        task = random_costs(task, seed=5, choices=costs)
    return task, parse_sas(task.sas.decode(), task.name), StateSpace(task, [task.initial_state])


def random_walk(task: Task, start: State, steps: int, seed: int) -> tuple[list[State], list[int]]:
    random = CounterRandom(seed)
    states = [start]
    operators: list[int] = []
    while len(operators) < steps and (choice := task.applicable(states[-1])):
        operators.append(choice[random.below(len(choice))])
        states.append(task.apply(states[-1], operators[-1]))
    return states, operators


class UndoPlan(NamedTuple):
    """A plan for the end of a walk: first back, then the plan of the start."""

    operators: tuple[int, ...]
    cost: int
    undo_steps: int
    undo_cost: int


def undo(
    task: Task,
    states: list[State],
    base: list[int],
    budget: int = 500,
    seconds: float = math.inf,
    undoer: Undoer | None = None,
) -> Undoing:
    """Undo a walk with a plan for its first state only. The naive version finds the same."""
    costs = np.full(len(states), math.inf)
    costs[0] = sum(task.cost(op) for op in base)
    found = (undoer or Undoer(task)).undo(rows(states), costs, math.inf, budget, seconds)
    if math.isinf(seconds):
        assert found == NaiveUndoer(task).undo(states, costs.tolist(), math.inf, budget)
    return found


def joined(task: Task, way: Way | None, base: list[int]) -> UndoPlan | None:
    if way is None:
        return None
    assert way.target == 0
    cost = sum(task.cost(op) for op in base)
    return UndoPlan((*way.operators, *base), way.cost + cost, len(way.operators), way.cost)


def undo_plan(
    task: Task, states: list[State], base: list[int], budget: int = 500
) -> UndoPlan | None:
    return joined(task, undo(task, states, base, budget).way, base)


def solvable(space: StateSpace, seed: int) -> State:
    random = CounterRandom(seed, 1)
    while True:
        s = random.below(len(space))
        if not math.isinf(space.h_star[s]):
            return space.state(s)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_plans_that_undo_a_walk_are_valid(name: str, costs: tuple[int, ...]) -> None:
    task, twin, space = variant(name, costs)
    undoer = Undoer(task)
    for seed in range(25):
        start = solvable(space, seed)
        base = bad_plan(space, start, steps=seed % 4, seed=seed)
        states, _ = random_walk(task, start, seed % 13, seed)
        result = undo(task, states, base, len(space) * len(states) * 4, undoer=undoer)
        assert result.limit is None
        found = joined(task, result.way, base)
        if found is None:
            # With this budget it is a proof: no state at least as good as the start can be reached.
            reachable = StateSpace(task, [states[-1]]).states()
            order = StatePreorder(task)
            row = StateSpace(task, [start]).states()[:1]
            assert not order.at_least_batch(reachable, row).any()
            continue
        names = [task.operator_name(op) for op in found.operators]
        report = validate_plan(twin, names, state=states[-1].values, claimed_cost=found.cost)
        assert report.valid, report
        assert found.cost >= space.h_star[space.find(states[-1])]
        assert found.operators[found.undo_steps :] == tuple(base)
        assert found.undo_cost == sum(task.cost(op) for op in found.operators[: found.undo_steps])
        small = undo(task, states, base, 0, undoer=undoer)
        assert small.expansions == 0
        assert (small.way is None) == (small.limit == "expansions")


@pytest.mark.parametrize("name", ["blocksworld-4", "ferry-3", "gripper-4", "visitall-3x3"])
def test_single_steps_are_enough_where_operators_are_invertible(name: str) -> None:
    task, _, space = variant(name, ())
    for seed in range(20):
        states, operators = random_walk(task, solvable(space, seed), 15, seed)
        found = undo_plan(task, states, bad_plan(space, states[0], 0, seed), budget=0)
        assert found is not None
        assert found.undo_cost <= len(operators)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_the_search_finds_the_cheapest_way_to_a_state(name: str, costs: tuple[int, ...]) -> None:
    task, _, space = variant(name, costs)
    undoer = Undoer(task)
    order = StatePreorder(task)
    states = space.states()
    for seed in range(6):
        random = CounterRandom(seed, 2)
        start, target = (space.state(random.below(len(space))) for _ in range(2))
        way, expansions, limit = undoer.search(start, target, budget=len(space))
        assert limit is None
        slow, slow_expansions, _ = NaiveUndoer(task).search(start, target, len(space))
        assert expansions == slow_expansions
        assert (way and way.operators) == (slow and slow.operators)
        good = order.at_least_batch(states, states[[space.find(target)]])[:, 0]
        cheapest = distance(space, task, space.find(start), {int(i) for i in good.nonzero()[0]})
        assert (math.inf if way is None else way.cost) == cheapest
        if way is not None:
            state = start
            for op in way.operators:
                state = task.apply(state, op)
            assert order.at_least(state, target)


def distance(space: StateSpace, task: Task, start: int, goals: set[int]) -> float:
    """Bellman-Ford, slow and obvious."""
    costs = {start: 0}
    work = [start]
    while work:
        s = work.pop(0)
        for op, t in space.transitions(s):
            if costs[s] + task.cost(op) < costs.get(t, math.inf):
                costs[t] = costs[s] + task.cost(op)
                work.append(t)
    return min((costs[g] for g in goals if g in costs), default=math.inf)


def test_a_step_that_cannot_be_undone_is_noticed_at_once() -> None:
    task, _, space = variant("spanner-3", ())
    base = bad_plan(space, task.initial_state, 0, 0)
    states, _ = random_walk(task, task.initial_state, 1, 0)
    assert undo(task, states, base) == Undoing(None, 0, None)
    assert Undoer(task).search(states[1], states[0], 1000) == Undoing(None, 0, None)


def test_a_detour_back_and_a_direct_way() -> None:
    # A one-way ring of four places, and at each a light that is lost on the first step of the ring.
    ring = [f"0\n1\n0 0 {i} {(i + 1) % 4}\n1" for i in range(4)]
    task = Task(sas([4, 2], [0, 0], [(0, 2), (1, 1)], [*ring, "1\n0 2\n1\n0 1 -1 1\n1"]).encode())
    start = task.initial_state
    states = [start, task.apply(start, 0)]
    base = [0, 1, 4]
    assert undo(task, states, base, budget=1) == Undoing(None, 1, "expansions")
    assert undo(task, states, base, seconds=0) == Undoing(None, 0, "time")
    found = undo_plan(task, states, base, budget=20)
    assert found is not None
    assert found.operators == (1, 2, 3, 0, 1, 4)
    assert (found.undo_steps, found.undo_cost, found.cost) == (3, 3, 6)
    assert undo(task, states, base, budget=20).expansions > 0


def ring(size: int) -> Task:
    """A one-way ring; the goal is at the start, and a light has to be on there."""
    steps = [f"0\n1\n0 0 {i} {(i + 1) % size}\n1" for i in range(size)]
    return Task(
        sas([size, 2], [0, 0], [(0, 0), (1, 1)], [*steps, "1\n0 0\n1\n0 1 0 1\n1"]).encode()
    )


def test_a_path_to_the_previous_state_may_pass_the_start() -> None:
    task = ring(10)
    states = [task.initial_state]
    for op in range(8):
        states.append(task.apply(states[-1], op))
    found = undo_plan(task, states, [10], budget=100)
    assert found is not None
    assert found.operators == (8, 9, 10)
    # Too little for the nine steps to the state before, but enough for the two steps to the start.
    result = undo(task, states, [10], budget=4)
    assert result.way is not None
    assert (result.way.operators, result.expansions) == ((8, 9), 4)
    assert undo_plan(task, states, [10], budget=3) is None


def test_a_walk_that_came_back_costs_nothing_to_undo() -> None:
    task = ring(3)
    states = [task.initial_state]
    for op in range(3):
        states.append(task.apply(states[-1], op))
    found = undo_plan(task, states, [3], budget=0)
    assert found is not None
    assert (found.operators, found.undo_cost) == ((3,), 0)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_single_steps_are_the_cheapest(name: str, costs: tuple[int, ...]) -> None:
    task, _, space = variant(name, costs)
    undoer = NaiveUndoer(task)
    for seed in range(5):
        states, _ = random_walk(task, solvable(space, seed), 8, seed)
        steps = undoer.single_steps(states)
        for k, state in enumerate(states):
            for j, target in enumerate(states):
                good = [
                    (task.cost(op), op)
                    for op in task.applicable(state)
                    if undoer.order.at_least(task.apply(state, op), target)
                ]
                assert steps[k].get(j) == (min(good)[1] if good and j != k else None)


def test_among_operators_that_lead_back_the_cheapest_is_taken() -> None:
    task = Task(
        sas(
            [2, 2],
            [0, 0],
            [(0, 0), (1, 1)],
            ["0\n1\n0 0 0 1\n1", "0\n1\n0 0 1 0\n7", "0\n1\n0 0 1 0\n2", "0\n1\n0 1 0 1\n1"],
        ).encode()
    )
    start = task.initial_state
    found = undo_plan(task, [start, task.apply(start, 0)], [3])
    assert found is not None
    assert (found.operators, found.undo_cost, found.cost) == ((2, 3), 2, 3)


def test_values_that_occur_in_effect_conditions_count_as_needed() -> None:
    # Nothing requires value 0 of variable 0, but value 1 enables an effect that destroys the goal.
    task = Task(
        sas(
            [2, 2, 2],
            [0, 0, 0],
            [(2, 1)],
            ["0\n1\n0 0 -1 1\n1", "0\n2\n0 1 -1 1\n1 0 1 1 -1 0\n1", "1\n1 1\n1\n0 2 -1 1\n1"],
        ).encode()
    )
    order = StatePreorder(task)
    assert not order.at_least(State([1, 0, 0]), State([0, 0, 0]))
    assert order.at_least(State([0, 1, 0]), State([0, 0, 0]))
    start = task.initial_state
    assert undo_plan(task, [start, task.apply(start, 0)], [1, 2]) is None


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_any_state_of_the_walk_may_have_the_plan(name: str, costs: tuple[int, ...]) -> None:
    """With some plans, a bound and a small budget: the same as the naive version, and a plan below the bound."""
    task, twin, space = variant(name, costs)
    undoer, naive = Undoer(task), NaiveUndoer(task)
    for seed in range(20):
        random = CounterRandom(seed, 3)
        states, _ = random_walk(task, space.state(random.below(len(space))), 3 * (seed % 8), seed)
        plans: dict[int, list[int]] = {}
        for k, state in enumerate(states):
            if random.below(3) == 0 and math.isfinite(space.h_star[space.find(state)]):
                plans[k] = bad_plan(space, state, random.below(3), seed)
        plan_costs = np.full(len(states), math.inf)
        for k, plan in plans.items():
            plan_costs[k] = sum(task.cost(op) for op in plan)
        for bound in (math.inf, 12, 3):
            for budget in (0, 7, 1000):
                found = undoer.undo(rows(states), plan_costs, bound, budget)
                assert found == naive.undo(states, plan_costs.tolist(), bound, budget)
                if found.way is None:
                    continue
                way = found.way
                assert way.cost + plan_costs[way.target] < bound
                operators = (*way.operators, *plans[way.target])
                report = validate_plan(
                    twin,
                    [task.operator_name(op) for op in operators],
                    state=states[-1].values,
                    claimed_cost=int(way.cost + plan_costs[way.target]),
                )
                assert report.valid, report


def test_wrong_arguments_are_refused() -> None:
    task, _, space = variant("gripper-4", ())
    start = task.initial_state
    op = task.applicable(start)[0]
    base = bad_plan(space, start, 0, 0)
    undoer = Undoer(task)
    states = walk_states(task, start, [op])
    assert states == [start, task.apply(start, op)]
    with pytest.raises(ValueError, match="as many costs"):
        undoer.undo(rows(states), np.zeros(1))
    with pytest.raises(ValueError, match="at least one state"):
        undoer.undo(rows(states)[:0], np.zeros(0))
    with pytest.raises(ValueError, match="nothing or more"):
        undoer.undo(rows(states), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="nothing or more"):
        undoer.undo(rows(states), np.array([1.0, math.nan]))
    with pytest.raises(ValueError, match="no value"):
        undoer.undo(rows(states) + 99, np.zeros(2))
    same = undo_plan(task, [start], base)
    assert same is not None
    assert same.operators == tuple(base)
