"""Biases agree with their definitions, which evaluate every pair with one exploration each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep import _core
from misstep._core import StateSpace, TraceBias
from misstep.fuzzing.biases import Bias
from misstep.policies.load import load_policy
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.fuzzing import POLICIES, exact_estimates, ff_estimates, naive_bias, spread
from support.policies import Misbehaving
from support.tasks import SMALL, random_costs, small_task

NAMES = ["policy-cost", "loop", "detour", "surface"]


def with_some_costs(name: str) -> Task:
    return random_costs(small_task(name), seed=3, choices=(0, 1, 4))


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_biases_against_the_definitions(name: str, costs: bool) -> None:
    task = with_some_costs(name) if costs else small_task(name)
    space = StateSpace(task, [task.initial_state])
    estimates = {"ff": ff_estimates(task), "h*": exact_estimates(task, space)}
    for spec in POLICIES:
        runner = PolicyRunner(load_policy(spec, task))
        biases = {
            (bias, h): TraceBias(runner.graph, bias, space if h == "h*" else None)
            for bias in NAMES
            for h in estimates
        }
        slow = {bias: TraceBias(runner.graph, bias, naive=True) for bias in NAMES}
        for limit in (5, 12):
            states = spread(space, 12)
            ends = runner.run(states, limit)
            for row, values in enumerate(states.tolist()):
                trace = runner.trace(State(values), limit)
                at, steps = ends.ids[row : row + 1], ends.steps[row : row + 1]
                for (bias, h), fast in biases.items():
                    expected = naive_bias(task, bias, trace, *estimates[h])
                    assert fast.values(at, steps)[0] == expected, (spec, bias, h, values)
                    if h == "ff":
                        assert slow[bias].values(at, steps)[0] == expected


@pytest.mark.parametrize("name", [name for name in SMALL if name != "conditional"])
def test_searched_distances_are_those_of_the_state_space(name: str) -> None:
    task = with_some_costs(name)
    space = StateSpace(task, [task.initial_state])
    for spec in ("noisy:0.2:3+optimal", "random:5"):
        runner = PolicyRunner(load_policy(spec, task))
        ends = runner.run(spread(space, 25), 6)
        for bias in NAMES:
            exact = TraceBias(runner.graph, bias, space)
            searched = TraceBias(runner.graph, bias, evaluations=10_000_000)
            expected = exact.values(ends.ids, ends.steps)
            assert (searched.values(ends.ids, ends.steps) == expected).all(), bias
            assert searched.cut_values == 0


def test_searches_that_are_cut_give_lower_bounds_on_distances() -> None:
    """So detours look longer than they are, never shorter; and every value that rests on one is counted."""
    task = with_some_costs("transport-2")
    space = StateSpace(task, [task.initial_state])
    runner = PolicyRunner(load_policy("random:5", task))
    ends = runner.run(spread(space, 60), 10)
    exact = TraceBias(runner.graph, "detour", space).values(ends.ids, ends.steps)
    previous, cuts = np.full(len(exact), math.inf), []
    for evaluations in (1, 5, 100, 100_000):
        searched = TraceBias(runner.graph, "detour", evaluations=evaluations)
        values = searched.values(ends.ids, ends.steps)
        assert (exact <= values).all()
        assert (values <= previous).all()
        assert searched.cut_values >= np.count_nonzero(values != exact)
        cuts.append(searched.cut_values)
        assert (searched.values(ends.ids, ends.steps) == values).all()
        assert searched.cut_values == 2 * cuts[-1]  # counted as often as it is used
        previous = values
    assert cuts[0] > cuts[1] > 0
    assert cuts[-1] == 0


def test_pruning_evaluates_fewer_pairs() -> None:
    task = small_task("transport-2")
    runner = PolicyRunner(load_policy("random:5", task))
    ends = runner.run(spread(StateSpace(task, [task.initial_state]), 50), 50)
    for name in ("loop", "detour"):
        fast, slow = TraceBias(runner.graph, name), TraceBias(runner.graph, name, naive=True)
        assert (fast.values(ends.ids, ends.steps) == slow.values(ends.ids, ends.steps)).all()
        assert fast.pairs_evaluated < 0.7 * slow.pairs_evaluated


def test_values_do_not_depend_on_what_is_known() -> None:
    task = small_task("gripper-4")
    fresh, old = (PolicyRunner(load_policy("optimal", task)) for _ in range(2))
    states = spread(StateSpace(task, [task.initial_state]), 40)
    old.run(states)  # to the end
    for name in NAMES:
        known = TraceBias(old.graph, name)
        known.values(*_run(old, states, 9))
        for limit in (3, 1, 6):
            new = TraceBias(fresh.graph, name).values(*_run(fresh, states, limit))
            assert (known.values(*_run(old, states, limit)) == new).all()


def _run(runner: PolicyRunner, states: _core._States, limit: int) -> tuple[np.ndarray, np.ndarray]:
    ends = runner.run(states, limit)
    return ends.ids, ends.steps


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("spec", POLICIES)
def test_exact_biases_name_bugs(name: str, spec: str) -> None:
    """P24, Propositions 3 (its first half), 5 and 6, against exhaustive truth."""
    task = small_task(name)
    space = StateSpace(task, [task.initial_state])
    runner = PolicyRunner(load_policy(spec, task))
    states = spread(space, 300)
    whole = runner.run(states, None)
    h_star = np.array([space.h_star[space.find(State(v))] for v in states.tolist()])
    solved = whole.outcomes == OUTCOMES.index("goal")
    bug = np.isfinite(h_star) & (np.where(solved, whole.costs, math.inf) > h_star)
    part = runner.run(states, 10)
    complete = solved & (part.outcomes == OUTCOMES.index("goal"))
    solvable = np.isfinite(h_star)
    for kind in ("detour", "surface"):
        values = TraceBias(runner.graph, kind, space).values(part.ids, part.steps)
        assert bug[solvable & (values > 0)].all()
        # Not so for detours, whatever Proposition 3 says: the run may be a cheapest way to its own goal state,
        # while another one is closer.
        if kind == "surface":
            assert (values[complete & bug] > 0).all()
            told = complete & (part.steps > 0)
            assert (whole.costs[told] - values[told] == h_star[told]).all()
            assert (values[~solvable] == -math.inf).all()
            for row in np.flatnonzero(values == math.inf):
                trace = runner.trace(State(states[row].tolist()), 10)
                assert math.isinf(space.h_star[space.find(trace.states[-1])])


def test_failures_weigh_infinitely() -> None:
    task = small_task("gripper-4")
    runner = PolicyRunner(Misbehaving(task, 3))
    ends = runner.run(spread(StateSpace(task, [task.initial_state]), 60), 5)
    names = [OUTCOMES[outcome] for outcome in ends.outcomes]
    assert {"loop", "stuck", "inapplicable", "error", "cut"} <= set(names)
    for name in NAMES:
        weights = Bias(runner.graph, name).values(ends.ids, ends.outcomes, ends.steps)
        plain = Bias(runner.graph, name, infinite_failures=False)
        measured = plain.values(ends.ids, ends.outcomes, ends.steps)
        for row, outcome in enumerate(names):
            if outcome in ("goal", "cut"):
                assert weights[row] == measured[row] < math.inf
            else:
                assert weights[row] == math.inf
            if ends.steps[row] == 0:
                assert measured[row] == -math.inf


def test_wrong_arguments() -> None:
    task, other = small_task("gripper-4"), small_task("ferry-3")
    graph = _core.PolicyGraph(task)
    with pytest.raises(ValueError, match="no such bias"):
        TraceBias(graph, "beauty")
    with pytest.raises(ValueError, match="another task"):
        TraceBias(graph, "loop", StateSpace(other, [other.initial_state]))
    with pytest.raises(ValueError, match="not complete"):
        TraceBias(graph, "loop", StateSpace(task, [task.initial_state], states=5))
    ids = graph.add(np.array([task.initial_state.values], dtype=np.int32))
    with pytest.raises(ValueError, match="not as long"):
        TraceBias(graph, "policy-cost").values(ids, np.array([1]))
