"""Dominance values are sound on many random tasks, for all pairs of assignments and all settings."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import MINUS_INFINITY, StateSpace
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from support.dominance import check_values
from support.tasks import SMALL, random_costs, small_task

TASKS = 20_000
CHUNK = 1_000
COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (0,), (1, 2, 50), (3, 2**30 - 1)]


@pytest.mark.soundness
@pytest.mark.parametrize("first", range(100_000, 100_000 + TASKS, CHUNK))
def test_values_are_sound_on_random_tasks(first: int) -> None:
    for seed in range(first, first + CHUNK):
        for name, variant, factoring, tables in check_values(seed):
            if variant.within_budget:
                for i, expected in enumerate(variant.naive(factoring)[0]):
                    assert (tables.table(i) == expected).all(), (seed, name, i)


@pytest.mark.soundness
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_values_are_sound_for_all_pairs_of_reachable_states_of_real_tasks(
    name: str, costs: tuple[int, ...]
) -> None:
    task = small_task(name)
    if costs:
        task = random_costs(task, seed=13, choices=costs)
    space = StateSpace(task, [task.initial_state])
    states, h_star = space.states(), space.h_star
    for settings in (
        DominanceSettings(),
        DominanceSettings(prune_unreachable=False, limit_transitions=3000),
        DominanceSettings(reduce_labels=False, shrink=False, noop_tau=True, limit_transitions=1000),
    ):
        function = DominanceFunction.compute(task, settings)
        for start in range(0, len(states), 500):
            part = slice(start, start + 500)
            values = function.matrix(states[part].copy(), states)
            solvable = np.isfinite(h_star[part])[:, None]
            known = (values > MINUS_INFINITY) & solvable
            with np.errstate(invalid="ignore"):
                assert not (known & ~(values <= h_star[part][:, None] - h_star[None, :])).any()
