"""Heuristics agree with naive versions and exact distances, also after the goal is changed at run time."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from misstep._core import HFF, HAdd, HMax, LMCut, PairFF, StateSpace, naive_ff, naive_relaxed_costs
from misstep.errors import UnsupportedError
from misstep.tasks.task import Task
from support.tasks import CONDITIONAL, SMALL, random_costs, rows, small_task, walk

COSTS: list[tuple[int, ...] | None] = [None, (0, 1, 2), (0, 7, 1_000_000), (2**30 - 1,)]


def variant(name: str, costs: tuple[int, ...] | None) -> Task:
    task = small_task(name)
    return random_costs(task, seed=5, choices=costs) if costs else task


def value(costs: np.ndarray[tuple[int], np.dtype[np.float64]], task: Task, add: bool) -> float:
    offsets = np.concatenate([[0], np.cumsum(task.domain_sizes)])
    goal = [costs[offsets[v] + x] for v, x in task.goal]
    return float(sum(goal) if add else max(goal))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("costs", COSTS)
def test_relaxation_heuristics_equal_their_twins(name: str, costs: tuple[int, ...] | None) -> None:
    task = variant(name, costs)
    hmax, hadd, hff = HMax(task), HAdd(task), HFF(task)
    largest = 2**30 - 1  # where sums are cut off
    for state in walk(task, 25, seed=11):
        twin = value(naive_relaxed_costs(task, state, False), task, add=False)
        assert hmax(state) == twin
        twin = value(naive_relaxed_costs(task, state, True), task, add=True)
        if math.isinf(twin) or twin < largest:
            assert hadd(state) == twin
        expected, helpful = naive_ff(task, state, task.goal)
        assert hff(state) == expected
        assert hff.helpful() == helpful
        assert set(hff.helpful()) <= set(task.applicable(state))


@pytest.mark.parametrize("name", SMALL)
def test_goals_can_be_moved_and_pairs_equal_single_evaluations(name: str) -> None:
    task = variant(name, (0, 1, 3))
    states = walk(task, 12, seed=4)
    hff, pair = HFF(task), PairFF(task)
    matrix = pair.all_pairs(rows(states), forward=True, backward=True)
    for i, source in enumerate(states):
        for j, target in enumerate(states):
            hff.set_goal_state(target)
            expected = hff(source)
            assert pair(source, target) == expected
            assert matrix[i, j] == expected
            assert naive_ff(task, source, list(enumerate(target.values)))[0] == expected
    forward = pair.all_pairs(rows(states))
    assert np.isnan(forward[np.tril_indices(len(states), -1)]).all()
    hff.set_goal(task.goal)
    assert hff(states[0]) == HFF(task)(states[0])


@pytest.mark.parametrize("name", ["blocksworld-4", "transport-2", "floortile-2x2"])
def test_retargeted_heuristics_are_admissible_for_their_new_goal(name: str) -> None:
    task = small_task(name)
    space = StateSpace(task, [task.initial_state])
    target = space.state(len(space) // 2)
    lines = task.sas.decode().split("\n")
    start, end = lines.index("begin_goal"), lines.index("end_goal")
    goal = [f"{v} {x}" for v, x in enumerate(target.values)]
    lines[start + 1 : end] = [str(len(goal)), *goal]
    moved = Task("\n".join(lines).encode())
    truth = StateSpace(moved, [moved.initial_state]).h_star
    for heuristic in (HMax(task), LMCut(task)):
        heuristic.set_goal_state(target)
        values = heuristic.evaluate_batch(space.states())
        assert (values <= truth).all()
        assert (np.isinf(values) <= np.isinf(truth)).all()


@pytest.mark.parametrize("name", SMALL)
def test_cuts_of_lmcut_are_landmarks_that_pay_only_what_operators_cost(name: str) -> None:
    task = variant(name, (0, 1, 4))
    lmcut = LMCut(task)
    for state in walk(task, 10, seed=8):
        cuts = lmcut.landmarks(state)
        h = lmcut(state)
        if math.isinf(h):
            continue
        assert sum(cost for _, cost in cuts) == h
        paid = dict.fromkeys(range(task.operator_count), 0)
        for operators, cost in cuts:
            assert cost > 0
            for op in operators:
                paid[op] += cost
        assert all(total <= task.cost(op) for op, total in paid.items())


def test_values_do_not_depend_on_history() -> None:
    for name in SMALL:
        task = variant(name, (0, 1, 2))
        states = walk(task, 40, seed=9)
        for make in (HMax, HAdd, HFF, LMCut):
            heuristic = make(task)
            forward = [heuristic(state) for state in states]
            backward = [heuristic(state) for state in reversed(states)]
            assert forward == backward[::-1]
            assert heuristic.evaluate_batch(rows(states)).tolist() == forward


def test_conditional_effects() -> None:
    task = Task(CONDITIONAL.encode())
    space = StateSpace(task, [task.initial_state])
    values = HMax(task).evaluate_batch(space.states())
    assert (values <= space.h_star).all()
    assert (np.isinf(HFF(task).evaluate_batch(space.states())) <= np.isinf(space.h_star)).all()
    with pytest.raises(UnsupportedError, match=r"LM-cut does not support conditional effects.*op1"):
        LMCut(task)


def test_wrong_goals_are_refused() -> None:
    hff = HFF(small_task("gripper-4"))
    for goal in ([(99, 0)], [(0, 99)], [(0, 0), (0, 1)]):
        with pytest.raises(ValueError, match="goal"):
            hff.set_goal(goal)


def test_threads_may_share_a_heuristic() -> None:
    task = small_task("blocksworld-4")
    states = rows(walk(task, 300, seed=2))
    for make in (HFF, LMCut):
        heuristic = make(task)
        expected = heuristic.evaluate_batch(states).tolist()
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(heuristic.evaluate_batch, states) for _ in range(8)]
        assert all(future.result().tolist() == expected for future in futures)
