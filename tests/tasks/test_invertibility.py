"""Claims about operators and values, checked in every reachable state of small tasks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.errors import UnsupportedError
from misstep.tasks.invertibility import Inverse, Invertibility, invertibility
from misstep.tasks.mutexes import MutexCompletion
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task
from support.preorder import StatePreorder
from support.tasks import CONDITIONAL, SMALL, random_costs, sas, small_task

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (0,)]

# Operators, those with a strict inverse, those that are at least invertible.
EXPECTED = {
    "blocksworld-4": (32, 32, 32),
    "childsnack-2": (30, 6, 6),  # only trays move back
    "ferry-3": (24, 24, 24),
    "floortile-2x2": (32, 16, 16),  # paint does not come off
    "gripper-4": (34, 34, 34),
    "gripper-4-scattered": (34, 34, 34),
    "miconic-3": (18, 12, 15),  # nobody gets off anywhere but at the destination
    "satellite-1": (21, 6, 17),
    "spanner-3": (13, 0, 0),
    "transport-2": (60, 60, 60),
    "visitall-3x3": (24, 0, 24),  # a visited place does no harm
}

# The same of benchmark tasks, translated without the variables that do not matter for the goal.
BENCHMARKS = {
    "blocks/probBLOCKS-6-0": (72, 72, 72),
    "elevators-opt11-strips/p01": (362, 362, 362),
    "floortile-opt11-strips/opt-p01-001": (144, 72, 72),
    "gripper/prob01": (34, 34, 34),
    "satellite/p01-pfile1": (48, 42, 46),
    "scanalyzer-opt11-strips/p01": (508, 12, 28),
    "storage/p03": (60, 9, 9),
    "transport-opt11-strips/p01": (616, 616, 616),
    "visitall-opt11-strips/problem02-full": (8, 0, 8),
}


@cache
def variant(name: str, costs: tuple[int, ...]) -> tuple[Task, StateSpace]:
    task = Task(CONDITIONAL.encode()) if name == "conditional" else small_task(name)
    if costs:
        task = random_costs(task, seed=7, choices=costs)
    return task, StateSpace(task, [task.initial_state])


def counts(task: Task, result: Invertibility) -> tuple[int, int, int]:
    return task.operator_count, result.strict_count, result.at_least_count


@pytest.mark.parametrize("name", SMALL)
def test_counts(name: str) -> None:
    task = small_task(name)
    result = invertibility(task)
    assert counts(task, result) == EXPECTED[name]
    assert result.invertible == (EXPECTED[name][0] == EXPECTED[name][2])
    assert not any(result.dead)


@pytest.mark.parametrize("problem", BENCHMARKS)
def test_counts_of_benchmarks(problem: str, shared: Path) -> None:
    path = shared / "benchmarks" / "ipc" / f"{problem}.pddl"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    task = load_planning_task(path, keep_unimportant=False)
    assert counts(task, invertibility(task)) == BENCHMARKS[problem]


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_inverses_undo_in_every_reachable_state(name: str, costs: tuple[int, ...]) -> None:
    task, space = variant(name, costs)
    result, order = invertibility(task), StatePreorder(task)
    undone = 0
    for s in range(len(space)):
        before = space.state(s)
        for op, t in space.transitions(s):
            assert not result.dead[op]
            for inverse, strict in ((result.strict[op], True), (result.at_least[op], False)):
                if inverse is None:
                    continue
                after = space.state(t)
                back = after if inverse.operator is None else task.apply(after, inverse.operator)
                assert order.at_least(back, before)
                assert back == before or not strict
                cost = 0 if inverse.operator is None else task.cost(inverse.operator)
                assert inverse.cost == cost
                undone += 1
    assert undone or name == "spanner-3"
    for strict_one, weak in zip(result.strict, result.at_least, strict=True):
        assert strict_one is None or (weak is not None and weak.cost <= strict_one.cost)


@pytest.mark.parametrize("name", SMALL)
def test_completion_never_excludes_a_reachable_state(name: str) -> None:
    task, space = variant(name, ())
    mutexes = MutexCompletion(task)
    possible = [mutexes.complete(task.preconditions(op)) for op in range(task.operator_count)]
    for s in range(len(space)):
        state = sum(mutexes.bit(fact) for fact in enumerate(space.state(s).values))
        assert mutexes.complete(enumerate(space.state(s).values)) == state
        for op, _ in space.transitions(s):
            allowed = possible[op]
            assert allowed is not None
            assert not state & ~allowed


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [*SMALL, "conditional"])
def test_the_preorder_never_contradicts_h_star(name: str, costs: tuple[int, ...]) -> None:
    task, space = variant(name, costs)
    order = StatePreorder(task)
    states, h_star = space.states(), space.h_star
    for first in range(0, len(states), 512):
        rows = slice(first, first + 512)
        better = order.at_least_batch(states[rows], states)
        assert (h_star[rows][:, None] <= h_star[None, :])[better].all()
        sample = space.state(first)
        for j in range(0, len(states), 17):
            assert order.at_least(sample, space.state(j)) == better[0, j]
            needed = order.needed_facts(space.state(j))
            assert better[0, j] == all(sample[v] == x for v, x in needed)


@pytest.mark.parametrize("name", ["visitall-3x3", "satellite-1", "miconic-3"])
def test_the_preorder_says_something(name: str) -> None:
    task, space = variant(name, ())
    states = space.states()
    assert np.count_nonzero(StatePreorder(task).at_least_batch(states, states)) > len(states)


def test_a_cheaper_inverse_is_preferred_and_dead_operators_are_found() -> None:
    text = sas(
        [2, 2, 2],
        [0, 0, 0],
        [(0, 1), (1, 1)],
        [
            "0\n1\n0 0 0 1\n1",  # 0: there
            "0\n1\n0 0 1 0\n7",  # 1: back, dear
            "0\n1\n0 0 1 0\n2",  # 2: back, cheap
            "0\n2\n0 0 1 0\n0 1 -1 1\n0",  # 3: back, and more
            "0\n1\n0 1 0 1\n1",  # 4: there, no way back, but nobody needs the old value
            "1\n0 1\n1\n0 1 1 1\n1",  # 5: both facts of a mutex group, and changes nothing
        ],
    )
    head, _, rest = text.partition("\n0\nbegin_state")
    group = "\n1\nbegin_mutex_group\n2\n0 1\n1 1\nend_mutex_group\nbegin_state"
    free, bound = Task(text.encode()), Task((head + group + rest).encode())
    result = invertibility(free)
    assert result.strict[0] == Inverse(2, 2)
    # Value 0 of variable 1 is needed by operator 4 itself.
    assert result.at_least[4] is None
    assert result.strict[5] == Inverse(None, 0)
    assert not any(result.dead)
    result = invertibility(bound)
    assert result.dead == (False, False, False, False, False, True)
    assert result.strict[5] is None
    assert result.strict_count == 4  # 0, 1, 2 and the dead one


def test_conditional_effects_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="conditional effects"):
        invertibility(Task(CONDITIONAL.encode()))
