"""Every claim of the core about distances agrees with exact h* on every state of small tasks."""

from __future__ import annotations

import numpy as np
import pytest

from misstep._core import HFF, HAdd, HMax, LMCut, StateSpace
from misstep.checking import parse_sas, validate_plan
from misstep.planning import SEARCHES, plan
from misstep.tasks.task import Task
from support.tasks import SMALL, random_costs, small_task

COSTS: list[tuple[int, ...] | None] = [None, (0, 1), (1, 2, 50), (0, 3, 2**30 - 1)]


def variant(name: str, costs: tuple[int, ...] | None) -> Task:
    task = small_task(name)
    return random_costs(task, seed=13, choices=costs) if costs else task


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_heuristics_keep_their_promises_on_every_state(
    name: str, costs: tuple[int, ...] | None
) -> None:
    task = variant(name, costs)
    space = StateSpace(task, [task.initial_state])
    states, truth = space.states(), space.h_star
    hmax = HMax(task).evaluate_batch(states)
    lmcut = LMCut(task).evaluate_batch(states)
    assert (hmax <= lmcut).all()
    assert (lmcut <= truth).all()
    for make in (HFF, HAdd):
        values = make(task).evaluate_batch(states)
        assert (np.isinf(values) == np.isinf(hmax)).all()
        assert (np.isinf(values) <= np.isinf(truth)).all()


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_searches_from_many_states_agree_with_exact_distances(
    name: str, costs: tuple[int, ...] | None
) -> None:
    task = variant(name, costs)
    twin = parse_sas(task.sas.decode(), task.name)
    space = StateSpace(task, [task.initial_state])
    for s in range(0, len(space), max(1, len(space) // 40)):
        start, truth = space.state(s), space.h_star[s]
        for search, kind in SEARCHES.items():
            result = plan(task, search, start=start)
            if result.status == "plan":
                report = validate_plan(
                    twin, result.operators, state=start.values, claimed_cost=result.cost
                )
                assert report.valid, report
                assert result.cost is not None
                assert result.cost == truth if kind.optimal else result.cost >= truth
            else:
                assert result.status == "unsolvable" or search == "ehc-ff"
                assert result.status != "unsolvable" or np.isinf(truth)
