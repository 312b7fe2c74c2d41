"""The exhaustive state space: h*, best operators, parents, limits, memory."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.tasks.task import State, Task
from support.tasks import SMALL, generated_task, random_costs, sas, small_task


def bellman_ford(task: Task, space: StateSpace) -> list[float]:
    """h* by the definition: sweep until nothing changes."""
    h = [0.0 if goal else np.inf for goal in space.is_goal]
    changed = True
    while changed:
        changed = False
        for s in range(len(space)):
            for op, t in space.transitions(s):
                if task.cost(op) + h[t] < h[s]:
                    h[s] = task.cost(op) + h[t]
                    changed = True
    return h


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("costs", [None, (0, 1, 5), (0,)])
def test_h_star_equals_plain_iteration(name: str, costs: tuple[int, ...] | None) -> None:
    task = small_task(name)
    if costs:
        task = random_costs(task, seed=7, choices=costs)
    space = StateSpace(task, [task.initial_state])
    assert space.complete
    assert space.h_star.tolist() == bellman_ford(task, space)


@pytest.mark.parametrize("name", ["blocksworld-4", "floortile-2x2", "spanner-3"])
def test_best_operators_lead_to_the_goal_at_the_price_of_h_star(name: str) -> None:
    task = random_costs(small_task(name), seed=2, choices=(0, 0, 1, 3))
    space = StateSpace(task, [task.initial_state])
    best, h_star = space.best_operator, space.h_star
    for s in range(len(space)):
        state, cost, steps = space.state(s), 0, 0
        if not np.isfinite(h_star[s]):
            assert best[s] == -1
            continue
        while not task.is_goal(state):
            op = int(best[space.find(state)])
            state, cost, steps = task.apply(state, op), cost + task.cost(op), steps + 1
            assert steps <= len(space)
        assert cost == h_star[s]


def test_parents_give_a_path_from_the_root() -> None:
    task = small_task("blocksworld-4")
    space = StateSpace(task, [task.initial_state])
    for s in range(len(space)):
        operators, at = [], s
        while at != 0:
            operators.append(int(space.parent_operators[at]))
            at = int(space.parents[at])
        state = task.initial_state
        for op in reversed(operators):
            state = task.apply(state, op)
        assert state == space.state(s)


def test_states_and_find_are_inverse() -> None:
    task = small_task("visitall-3x3")
    space = StateSpace(task, [task.initial_state])
    array = space.states()
    assert all(space.find(State(row.tolist())) == i for i, row in enumerate(array))
    assert space.find(State([99] * task.variable_count)) == -1
    assert space.find(State([0])) == -1
    with pytest.raises(IndexError):
        space.state(len(space))


def test_limits_end_the_enumeration_and_say_which() -> None:
    task = generated_task("blocksworld", blocks=7)
    assert StateSpace(task, [task.initial_state], states=100).limit == "expansions"
    assert StateSpace(task, [task.initial_state], bytes=1).limit == "memory"
    assert StateSpace(task, [task.initial_state], seconds=0).limit == "time"


def test_registry_needs_at_most_16_bytes_beside_the_packed_state() -> None:
    for name, sizes in [("blocksworld", {"blocks": 6}), ("visitall", {"width": 4, "height": 3})]:
        task = generated_task(name, **sizes)
        space = StateSpace(task, [task.initial_state])
        whole_segments = (len(space) + 4095) // 4096 * 4096
        fixed = 1024
        assert space.registry_bytes <= whole_segments * task.packed_bytes + 16 * len(space) + fixed


def test_wide_states_and_large_domains() -> None:
    # 40 variables of 1000 values need several words; one operator each.
    operators = [f"0\n1\n0 {v} 0 999\n1" for v in range(40)]
    task = Task(sas([1000] * 40, [0] * 40, [(0, 999)], operators[:8]).encode())
    space = StateSpace(task, [task.initial_state])
    assert len(space) == 2**8
    assert space.h_star[0] == 1
    assert space.states().max() == 999
