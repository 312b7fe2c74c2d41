"""The comparison index agrees with a comparison of every pair of states, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep._core import MINUS_INFINITY, CounterRandom, StateSpace
from misstep.errors import MisstepError
from misstep.oracles.dominance import ComparisonIndex, DominanceFunction, DominanceSettings, Pull
from misstep.tasks.task import State, Task
from support.dominance import Truth, gripper, logistics, solvable_tasks
from support.tasks import generated_task, random_costs, small_task, walk

SETTINGS = {
    "atomic": DominanceSettings(merged=False),
    "merged": DominanceSettings(atomic=False, limit_transitions=40),
    "both": DominanceSettings(limit_transitions=40),
    "truncated": DominanceSettings(limit_transitions=40, truncate=1),
    "everywhere": DominanceSettings(limit_transitions=40, prune_unreachable=False),
}


class Model:
    """What the index should do, by the definition."""

    def __init__(self, function: DominanceFunction) -> None:
        self.function = function
        self.rows: list[State] = []
        self.bounds: list[int | None] = []

    def add(self, state: State) -> int:
        if state not in self.rows:
            self.rows.append(state)
            self.bounds.append(None)
        return self.rows.index(state)

    def set_bound(self, row: int, bound: int) -> None:
        old = self.bounds[row]
        self.bounds[row] = bound if old is None else min(old, bound)

    def pull(self, t: State) -> int | None:
        found = []
        for s, bound in zip(self.rows, self.bounds, strict=True):
            value = 0 if s == t else self.function.value(s, t)
            if bound is not None and value is not None:
                found.append(bound - value)
        return min(found, default=None)

    def push(self, t: State, u: int) -> dict[int, int]:
        improved = {}
        for row, s in enumerate(self.rows):
            value, old = self.function.value(t, s), self.bounds[row]
            if s != t and value is not None and (old is None or u - value < old):
                improved[row] = self.bounds[row] = u - value
        if t in self.rows:
            self.set_bound(self.rows.index(t), u)
        return improved


def solvable_states(truth: Truth) -> list[tuple[State, int]]:
    pairs = zip(truth.states.tolist(), truth.h_star.tolist(), strict=True)
    return [(State(row), int(h)) for row, h in pairs if np.isfinite(h)]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("first", [0, 20])
def test_any_sequence_of_operations_agrees_with_the_definition(name: str, first: int) -> None:
    for seed, task in enumerate(solvable_tasks(range(first, first + 20))):
        function = DominanceFunction.compute(task, SETTINGS[name])
        if not function.solvable:
            continue
        truth = Truth.of(task)
        good = solvable_states(truth)
        everything = [State(row) for row in truth.states.tolist()]
        index, model, random = ComparisonIndex(function), Model(function), CounterRandom(seed, 3)
        for _ in range(60):
            action = random.below(5)
            anything = everything[random.below(len(everything))]
            state, h = good[random.below(len(good))]
            bound = h + random.below(6)
            if action == 0:
                assert index.add(anything) == model.add(anything)
            elif action == 1:
                row = index.add(state)
                assert row == model.add(state)
                index.set_bound(row, bound)
                model.set_bound(row, bound)
            elif action == 2:
                check_pull(index, model, anything)
            elif action == 3:
                pushed = index.push(state, bound)
                expected = model.push(state, bound)
                assert dict(zip(*(x.tolist() for x in pushed), strict=True)) == expected
            else:
                offered = bound if random.below(2) else None
                pulled, pushed = index.exchange(state, offered)
                assert pulled.bound == model.pull(state)
                offers = [b for b in (pulled.bound, offered) if b is not None]
                expected = model.push(state, min(offers)) if offers else {}
                assert dict(zip(*(x.tolist() for x in pushed), strict=True)) == expected
            assert [index.bound(row) for row in range(len(index))] == model.bounds
        for t in everything[::3]:
            check_pull(index, model, t)
        bounds, rows = index.pull_batch(truth.states)
        for i, t in enumerate(everything):
            expected_bound = model.pull(t)
            assert bounds[i] == (-1 if expected_bound is None else expected_bound)
            assert (rows[i] == -1) == (expected_bound is None)


def check_pull(index: ComparisonIndex, model: Model, t: State) -> None:
    pulled = index.pull(t)
    assert pulled.bound == model.pull(t)
    if pulled.row is not None:
        value = (
            0 if model.rows[pulled.row] == t else model.function.value(model.rows[pulled.row], t)
        )
        bound = model.bounds[pulled.row]
        assert value is not None
        assert bound is not None
        assert pulled.bound == bound - value
    else:
        assert pulled == Pull(None, None)


def test_exchange_pulls_then_pushes_the_better_bound() -> None:
    task = logistics(2, 1, goal=1)
    index = ComparisonIndex(DominanceFunction.compute(task, DominanceSettings(merged=False)))
    s, t, x = State([0, 0]), State([1, 0]), State([1, 2])
    index.set_bound(index.add(s), 3)
    index.add(x)
    pulled, pushed = index.exchange(t, 9)
    assert pulled == (4, 0)
    assert pushed.rows.tolist() == [1]
    assert pushed.bounds.tolist() == [4 - 1]  # D(t, x) = 1
    assert index.bound(1) == 3
    pulled, pushed = index.exchange(t, 1)
    assert pulled == (4, 0)
    # Lower than what was pulled: s gets 1 + 1 now, x gets 1 - 1.
    assert dict(zip(pushed.rows.tolist(), pushed.bounds.tolist(), strict=True)) == {0: 2, 1: 0}


def test_higher_bounds_are_ignored() -> None:
    task = gripper(2)
    index = ComparisonIndex(DominanceFunction.compute(task))
    row = index.add(task.initial_state)
    assert (index.bound(row), len(index)) == (None, 1)
    index.set_bound(row, 7)
    index.set_bound(row, 9)
    assert index.bound(row) == 7
    assert index.state(row) == task.initial_state
    assert index.add(task.initial_state) == row
    for wrong in (-1, -(10**6)):
        with pytest.raises(ValueError, match="negative"):
            index.set_bound(row, wrong)
    with pytest.raises(IndexError):
        index.set_bound(1, 3)


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_all_bounds_equals_setting_one_after_the_other(name: str) -> None:
    """The same as one after the other, whatever the rows had before."""
    for seed, task in enumerate(solvable_tasks(range(10))):
        function = DominanceFunction.compute(task, SETTINGS[name])
        truth, random = Truth.of(task), CounterRandom(seed, 4)
        good = solvable_states(truth)
        together, model = ComparisonIndex(function), Model(function)
        together.add_batch(rows_of([state for state, _ in good]))
        for state, _ in good:
            model.add(state)
        for _ in range(3):
            offered = [h + random.below(6) if random.below(2) else -1 for _, h in good]
            together.set_bounds(np.array(offered, dtype=np.int64))
            for row, bound in enumerate(offered):
                if bound >= 0:
                    model.set_bound(row, bound)
            assert [together.bound(row) for row in range(len(together))] == model.bounds
            for row in truth.states.tolist():
                check_pull(together, model, State(row))


def test_wrong_bounds_are_refused_and_change_nothing() -> None:
    task = gripper(2)
    index = ComparisonIndex(DominanceFunction.compute(task))
    index.set_bounds(np.empty(0, dtype=np.int64))
    states = list(dict.fromkeys(walk(task, 20, 1)))[:3]
    assert index.add_batch(rows_of(states)).tolist() == [0, 1, 2]
    for wrong in ([50, 60], [50, 60, 70, 80], []):
        with pytest.raises(ValueError, match="for each row"):
            index.set_bounds(np.array(wrong, dtype=np.int64))
    with pytest.raises(ValueError, match="negative"):
        index.set_bounds(np.array([50, -1, -2], dtype=np.int64))
    with pytest.raises(TypeError):
        index.set_bounds(np.array([50.0, 60.0, 70.0]))
    assert [index.bound(row) for row in range(3)] == [None, None, None]
    index.set_bounds(np.array([50, -1, 70]))
    index.set_bounds(np.array([60, 2**63 - 1, 65]))  # higher, infinite, lower
    assert [index.bound(row) for row in range(3)] == [50, None, 65]


def test_a_negative_bound_is_an_error_in_all_builds() -> None:
    task = gripper(2)
    index = ComparisonIndex(DominanceFunction.compute(task))
    goal = State([1, 0, 0, 1, 1])
    index.set_bound(index.add(task.initial_state), 0)  # a lie: there is a long way to go
    with pytest.raises(MisstepError, match=r"internal error: .* negative"):
        index.pull(goal)
    index = ComparisonIndex(DominanceFunction.compute(task))
    index.add(goal)
    with pytest.raises(MisstepError, match=r"internal error: .* negative"):
        index.push(task.initial_state, 0)


def test_values_that_need_64_bits() -> None:
    task = random_costs(small_task("gripper-4"), 3, (2**30 - 1, 7))
    index = ComparisonIndex(DominanceFunction.compute(task))
    states = list(dict.fromkeys(walk(task, 40, 2)))
    huge = 2**60
    index.set_bound(index.add(states[0]), huge)
    for state in states:
        value = index.function.value(states[0], state)
        assert index.pull(state).bound == (None if value is None else huge - value)


def test_sources_that_cannot_win_are_dropped() -> None:
    task = small_task("gripper-4")
    function = DominanceFunction.compute(task, DominanceSettings(atomic=False))
    index = ComparisonIndex(function)
    states = list(dict.fromkeys(s for seed in range(30) for s in walk(task, 60, seed)))
    for i, state in enumerate(states):
        index.set_bound(index.add(state), 100 + i % 7)
    # One exact factor: a single source gives the best bound to all.
    assert index.sources == 1
    assert len(index) == len(states)
    brute = function.matrix(rows_of(states), rows_of(states))
    best = (np.array([100 + i % 7 for i in range(len(states))])[:, None] - brute).min(axis=0)
    bounds, _ = index.pull_batch(rows_of(states))
    assert (brute > MINUS_INFINITY).all()
    assert bounds.tolist() == best.tolist()


def rows_of(states: list[State]) -> NDArray[np.int32]:
    return np.array([state.values for state in states], dtype=np.int32)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 511, 512, 513, 1500])
def test_many_rows_are_compared_in_blocks(count: int) -> None:
    """Numbers of rows around the sizes at which the scan uses another algorithm."""
    task = generated_task("visitall", width=4, height=3)
    function = DominanceFunction.compute(task, DominanceSettings(limit_transitions=300, truncate=2))
    space = StateSpace(task, [task.initial_state])
    states = [space.state(s) for s in range(count)]
    assert len(states) == count
    batch = rows_of(states)
    index = ComparisonIndex(function)
    assert index.add_batch(batch).tolist() == list(range(count))
    bounds = np.array([200 + (37 * i) % 50 for i in range(count)])
    for row in range(0, count, 2):
        index.set_bound(row, int(bounds[row]))
    values = function.matrix(batch, batch)
    sources = np.arange(0, count, 2)
    offered = np.where(
        values[sources] > MINUS_INFINITY, bounds[sources][:, None] - values[sources], 10**9
    )
    pulled, _ = index.pull_batch(batch)
    assert [b if b >= 0 else 10**9 for b in pulled.tolist()] == offered.min(axis=0).tolist()
    pushed = index.push(states[0], 150)
    current = np.full(count, 10**9)
    current[sources] = bounds[sources]
    gained = np.where(values[0] > MINUS_INFINITY, 150 - values[0], 10**9)
    better = np.flatnonzero((gained < current) & (np.arange(count) != 0))
    assert pushed.rows.tolist() == better.tolist()
    assert pushed.bounds.tolist() == gained[better].tolist()


def test_an_index_of_an_unsolvable_task_has_only_the_given_bounds() -> None:
    text = gripper(1).sas.decode()  # both hands used, with one ball
    task = Task(text.replace("begin_goal\n1\n3 1", "begin_goal\n2\n1 1\n2 1").encode())
    function = DominanceFunction.compute(task, DominanceSettings(atomic=False))
    assert not function.solvable
    index = ComparisonIndex(function)
    row = index.add(task.initial_state)
    assert index.pull(task.initial_state) == (None, None)
    index.set_bound(row, 4)
    assert index.pull(task.initial_state) == (4, row)
    assert index.push(task.initial_state, 3).rows.tolist() == []
    assert index.bound(row) == 3
