"""Smallest repairs against dynamic programming over the whole state space."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep._core import HMax
from misstep.checking import parse_sas, validate_plan
from misstep.faults.repair import Repair, smallest_repair
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State
from support.repairs import naive_repair
from support.worlds import COSTS, POLICIES, World, world

NAMES = ["blocksworld-4", "ferry-3", "floortile-2x2", "spanner-3", "satellite-1", "conditional"]


def costs_by_deviations(here: World, runner: PolicyRunner) -> list[list[float]]:
    """Row d: for each state, the cost of a cheapest plan with at most d deviations; until nothing improves."""
    task, space = here.task, here.space
    ids = runner.run(space.states(), max_steps=None).ids
    decisions = runner.graph.decisions(ids).tolist()
    start = [0.0 if space.is_goal[s] else math.inf for s in range(len(space))]
    rows: list[list[float]] = []
    while len(rows) < 2 or rows[-1] != rows[-2]:
        costs = list(start)
        changed = True
        while changed:
            changed = False
            for s in range(len(space)):
                for op, t in [] if space.is_goal[s] else space.transitions(s):
                    rest = costs[t] if op == decisions[s] else rows[-1][t] if rows else math.inf
                    if task.cost(op) + rest < costs[s]:
                        costs[s] = task.cost(op) + rest
                        changed = True
        rows.append(costs)
    return rows


def check(here: World, runner: PolicyRunner, start: State, repair: Repair) -> None:
    """The plan is one, and the deviations are a patch with which the policy follows it."""
    task = here.task
    names = [task.operator_name(op) for op in repair.operators]
    twin = parse_sas(task.sas.decode(), task.name)
    report = validate_plan(twin, names, state=start.values, claimed_cost=repair.cost)
    assert report.valid, report
    patch = {deviation.state: deviation.operator for deviation in repair.deviations}
    assert len(patch) == len(repair.deviations)
    state = start
    for step, op in enumerate(repair.operators):
        ids = runner.run(np.array([state.values], dtype=np.int32), max_steps=1).ids
        decision = int(runner.graph.decisions(ids)[0])
        assert patch.get(state, decision) == op
        assert (state in patch) == (op != decision)
        if state in patch:
            assert any(d.step == step and d.policy_operator == decision for d in repair.deviations)
        state = task.apply(state, op)


@pytest.mark.parametrize("spec", POLICIES)
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_repairs_are_smallest(name: str, costs: tuple[int, ...], spec: str) -> None:
    here = world(name, costs)
    runner = here.runner(spec)
    truth = costs_by_deviations(here, runner)
    hmax = HMax(here.task)
    for start in here.states(8):
        s = here.space.find(start)
        h_star = here.h_star(start)
        bounds = [None] if math.isinf(h_star) else [None, int(h_star), int(h_star * 1.3) + 1]
        for bound in bounds:
            limit = math.inf if bound is None else bound
            fewest = [d for d, row in enumerate(truth) if row[s] <= limit and row[s] < math.inf]
            for estimate in (None, hmax):
                repair = smallest_repair(
                    PolicyRunner(runner.policy),
                    start,
                    cost_bound=bound,
                    max_expansions=10**6,
                    lower_bound=estimate,
                )
                twin = naive_repair(
                    PolicyRunner(runner.policy),
                    start,
                    cost_bound=bound,
                    max_expansions=10**6,
                    lower_bound=estimate,
                )
                assert repair == twin
                if not fewest:
                    assert (repair.status, repair.cost) == ("impossible", None)
                    continue
                assert repair.status == "minimal"
                assert len(repair.deviations) == fewest[0] == repair.lower_bound
                assert repair.cost == truth[fewest[0]][s]
                check(here, runner, start, repair)


@pytest.mark.parametrize("name", NAMES)
def test_a_small_budget_is_never_a_proof(name: str) -> None:
    here = world(name, (0, 1, 5))
    runner = here.runner("random:3")
    truth = costs_by_deviations(here, runner)
    for start in here.states(10):
        s = here.space.find(start)
        fewest = next((d for d, row in enumerate(truth) if row[s] < math.inf), math.inf)
        for budget in (0, 1, 3, 10, 40):
            fresh = PolicyRunner(runner.policy)
            repair = smallest_repair(fresh, start, max_expansions=budget)
            twin_runner = PolicyRunner(runner.policy)
            assert repair == naive_repair(twin_runner, start, max_expansions=budget)
            assert fresh.policy_calls == twin_runner.policy_calls
            assert repair.expansions <= budget
            assert repair.lower_bound <= fewest or repair.status == "impossible"
            if repair.status == "minimal":
                assert len(repair.deviations) == fewest
            elif repair.status == "found":
                assert len(repair.deviations) >= fewest
                check(here, runner, start, repair)
            elif repair.status == "impossible":
                assert math.isinf(fewest)
            else:
                assert (repair.status, repair.operators) == ("limit", ())


def test_a_policy_that_solves_the_state_needs_no_repair() -> None:
    here = world("blocksworld-4", ())
    runner = here.runner("optimal")
    repair = smallest_repair(runner, here.task.initial_state)
    assert (repair.status, repair.deviations, repair.lower_bound) == ("minimal", (), 0)
    assert repair.cost == here.h_star(here.task.initial_state)
    assert smallest_repair(runner, here.task.initial_state, cost_bound=0).status == "impossible"


def test_a_lower_bound_may_come_from_python() -> None:
    here = world("ferry-3", (0, 1, 5))
    hmax = HMax(here.task)
    asked: list[State] = []

    def estimate(state: State) -> float:
        asked.append(state)
        return hmax(state) - 0.5  # a cost of whole numbers rounds it up

    start = here.task.initial_state
    bound = int(here.h_star(start))
    native = smallest_repair(here.runner("random:3"), start, cost_bound=bound, lower_bound=hmax)
    own = smallest_repair(here.runner("random:3"), start, cost_bound=bound, lower_bound=estimate)
    assert native == own
    assert len(asked) == len(set(asked))  # each state once


def test_wrong_lower_bounds_are_refused() -> None:
    here = world("ferry-3", ())
    start = here.task.initial_state

    def broken(state: State) -> float:
        raise RuntimeError(f"no luck with {len(state)} values")

    with pytest.raises(RuntimeError, match="no luck"):
        smallest_repair(here.runner("first"), start, lower_bound=broken)
    with pytest.raises(ValueError, match="not a number"):
        smallest_repair(here.runner("first"), start, lower_bound=lambda _: math.nan)
    other = HMax(world("blocksworld-4", ()).task)
    with pytest.raises(ValueError, match="another task"):
        smallest_repair(here.runner("first"), start, lower_bound=other)
