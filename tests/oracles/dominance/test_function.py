"""A dominance function as the oracles use it: values, summands, budgets, real tasks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from misstep._core import MINUS_INFINITY, CounterRandom, StateSpace
from misstep.errors import MemoryLimitError, UnsupportedError, UsageError
from misstep.oracles.dominance import DominanceFunction, DominanceSettings, compute, try_dominance
from misstep.tasks.task import State, Task
from support.dominance import Operator, RawTask, Truth, gripper, logistics, solvable_tasks
from support.tasks import CONDITIONAL, SMALL, generated_task, random_costs, small_task

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (1, 2**30 - 1)]


def sampled_truth(task: Task, count: int = 300) -> Truth:
    """Reachable states, dead ends among them, and what is reachable from random assignments."""
    random = CounterRandom(3)
    anywhere = [State([random.below(size) for size in task.domain_sizes]) for _ in range(40)]
    space = StateSpace(task, [task.initial_state, *anywhere], states=60_000)
    if not space.complete:
        space = StateSpace(task, [task.initial_state])
    step = max(1, len(space) // count)
    return Truth(space.states()[::step].copy(), space.h_star[::step])


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_values_are_sound_on_real_tasks(name: str, costs: tuple[int, ...]) -> None:
    task = small_task(name)
    if costs:
        task = random_costs(task, seed=5, choices=costs)
    truth = sampled_truth(task)
    for settings in (
        DominanceSettings(limit_transitions=1500),
        DominanceSettings(limit_transitions=1500, prune_unreachable=False),
        DominanceSettings(merged=False, noop_tau=True),
        DominanceSettings(atomic=False, limit_transitions=300, shrink=False),
        DominanceSettings(atomic=False, limit_transitions=1500, steps=100_000),
    ):
        function = DominanceFunction.compute(task, settings)
        values = function.matrix(truth.states, truth.states)
        assert truth.violations(values) == [], settings


def test_values_are_exact_if_all_variables_are_merged() -> None:
    for name in ("gripper-4", "ferry-3", "miconic-3"):
        task = small_task(name)
        space = StateSpace(task, [task.initial_state])
        function = DominanceFunction.compute(task)
        states = space.states()[:200].copy()
        truth = Truth(states, space.h_star[:200])
        known, pairs, tight = truth.counts(function.matrix(states, states))
        assert known == pairs == tight


def test_values_and_their_summands() -> None:
    task = logistics(2, 1, goal=1)
    function = DominanceFunction.compute(task, DominanceSettings(merged=False))
    s, t = State([0, 0]), State([1, 2])
    assert function.value(s, t) == 0
    assert function.by_factor(s, t) == [((0,), (0, 1), -1), ((1,), (0, 2), 1)]
    assert function.by_factor(s, t)[0].variables == (0,)
    # The merged factor is exact, so its sum is the largest.
    both = DominanceFunction.compute(task)
    assert both.value(s, t) == 2
    (part,) = both.by_factor(s, t)
    assert (part.variables, part.value) == ((0, 1), 2)
    assert [info.factoring for info in both.factors] == [0, 0, 1]


def test_summands_add_up_to_the_value() -> None:
    for task in solvable_tasks(range(40)):
        function = DominanceFunction.compute(task, DominanceSettings(limit_transitions=40))
        truth = Truth.of(task)
        values = truth.matrix(function.core)
        random = CounterRandom(1)
        for _ in range(40):
            s, t = (random.below(len(values)) for _ in range(2))
            states = [State(truth.states[x].tolist()) for x in (s, t)]
            value, parts = function.value(*states), function.by_factor(*states)
            assert (value is None) == (values[s, t] == MINUS_INFINITY) == (parts == [])
            if value is not None:
                assert value == values[s, t] == sum(part.value for part in parts)
                variables = sorted(v for part in parts for v in part.variables)
                assert variables == list(range(task.variable_count))


def test_states_that_were_pruned_have_no_value() -> None:
    task = gripper(1)
    function = DominanceFunction.compute(task)
    impossible = State([0, 1, 1, 0])  # both hands used, the ball on the floor
    assert function.value(impossible, task.initial_state) == 0  # the atomic factors still see it
    merged = DominanceFunction.compute(task, DominanceSettings(atomic=False))
    assert merged.value(impossible, task.initial_state) is None
    assert merged.value(task.initial_state, task.initial_state) == 0


def test_the_function_of_an_unsolvable_task_has_no_values() -> None:
    task = RawTask((2, 2), (0, 0), ((0, 1),), (Operator(((1, 0, 1),)),)).task()
    function = DominanceFunction.compute(task)
    assert not function.solvable
    assert function.value(task.initial_state, task.initial_state) is None
    assert function.factors == []
    assert function.morphs(task.initial_state) == []
    assert function.best_morphs(task.initial_state, 5) == []
    assert "no plan" in function.remarks[0]


def test_conditional_effects_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="dominance function"):
        DominanceFunction.compute(Task(CONDITIONAL.encode()))


def test_budgets_are_reproducible_and_reported() -> None:
    task = generated_task("visitall", width=4, height=3)
    settings = DominanceSettings(
        steps=300_000, reduce_labels=False, shrink=False, limit_transitions=2000
    )
    first, second = (DominanceFunction.compute(task, settings) for _ in range(2))
    assert first.factors == second.factors
    assert any(info.fallback == "steps" for info in first.factors)
    assert any("internal moves only: the budget of steps" in text for text in first.remarks)
    assert DominanceFunction.compute(task).remarks == ()


def test_merging_stops_at_its_budget() -> None:
    task = gripper(6)
    full, little = (
        DominanceFunction.compute(task, DominanceSettings(atomic=False, steps=steps))
        for steps in (10**9, 20_000)
    )
    assert full.remarks == ()
    assert little.merges < full.merges
    assert any("merging stopped" in text and "budget" in text for text in little.remarks)


def test_a_time_limit_of_zero_gives_a_sound_function() -> None:
    function = DominanceFunction.compute(gripper(4), DominanceSettings(seconds=0.0))
    assert any("time limit" in text for text in function.remarks)
    truth = Truth.of(gripper(4))
    assert truth.violations(truth.matrix(function.core)) == []


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int, float]] = []
    task = generated_task("visitall", width=4, height=4)
    settings = DominanceSettings(reduce_labels=False, shrink=False)
    DominanceFunction.compute(task, settings, lambda *now: seen.append(now))
    assert any(stage.startswith("simulation") for stage, _, _ in seen)
    assert all(a[2] <= b[2] for a, b in pairwise(seen))


@pytest.mark.parametrize(
    "wrong",
    [{"atomic": False, "merged": False}, {"steps": 0}, {"threads": 0}, {"truncate": -1}, {"limit_states": 0}],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        DominanceSettings(**wrong)


def test_truncation_follows_the_costs() -> None:
    assert DominanceSettings().truncate_for(gripper(1)) == 1000
    dear = random_costs(small_task("gripper-4"), 1, (700,))
    assert DominanceSettings().truncate_for(dear) == 35_000
    assert DominanceSettings(truncate=3).truncate_for(dear) == 3


def test_matrix_takes_batches_of_different_sizes() -> None:
    task = gripper(2)
    function = DominanceFunction.compute(task)
    truth = Truth.of(task)
    part = function.matrix(truth.states[:5].copy(), truth.states)
    assert part.shape == (5, len(truth.states))
    assert (part == truth.matrix(function.core)[:5]).all()
    with pytest.raises(ValueError, match="columns"):
        function.matrix(np.zeros((1, 2), dtype=np.int32), truth.states)


def test_the_error_for_too_little_memory_says_where_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(compute, "dominance_simulation", greedy)
    with pytest.raises(MemoryLimitError, match=r"gripper: out of memory .*--atomic"):
        DominanceFunction.compute(gripper(1))
    assert try_dominance(gripper(1)) == "out of memory while computing a dominance function"
