"""SMO and BMO on dominance functions that are true by construction."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.errors import MisstepError
from misstep.oracles import Objective, Workbench, parse_oracle
from misstep.oracles.bounds import BoundStore
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.policies.function import FunctionPolicy
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.dominance import logistics
from support.metamorphic import TrueDominance
from support.oracles import POLICIES, sample, true_cost, true_gap, variant
from support.policies import Misbehaving

SPECS = [
    "smo(5)",
    "smo(3, sample=true, seed=7)",
    "bmo(0)",
    "bmo(20)",
    "bmo(5, path=false)",
    "bmo(10)+aras/ehc",
]


def bench_of(task: Task, space: StateSpace, policy: str, **how: object) -> Workbench:
    loaded = Misbehaving(task, seed=3) if policy == "misbehaving" else load_policy(policy, task)
    return Workbench(
        PolicyRunner(loaded),
        dominance=TrueDominance(task, space, seed=1),
        **how,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3", "transport-2", "visitall-3x3"])
def test_verdicts_are_true(name: str, spec: str) -> None:
    found: Counter[str] = Counter()
    for policy in POLICIES:
        for costs in ((), (0, 1, 5)):
            task, space = variant(name, costs)
            bench = bench_of(task, space, policy)
            oracle = parse_oracle(spec, bench)
            for state in sample(space, 8):
                verdict = oracle.test(state)
                assert verdict.problems == ()
                bench.check(verdict)
                best = float(space.h_star[space.find(state)])
                assert verdict.lower_bound <= best <= verdict.upper_bound
                cost = true_cost(bench, state)
                if cost is not None:
                    gap = true_gap(cost, best)
                    assert gap in verdict.gap
                    assert not verdict.is_bug or gap > 0
                if verdict.derivation is not None:
                    assert verdict.is_bug
                    assert verdict.derivation.bound(task) == verdict.upper_bound
                    found["derived"] += 1
            lower, upper = bench.bounds.graph.all_bounds()
            ids = [
                space.find(row)
                for row in map(type(task.initial_state), bench.bounds.graph.states().tolist())
            ]
            truth = np.array([space.h_star[s] if s >= 0 else math.nan for s in ids])
            inside = ~np.isnan(truth)
            assert (lower[inside] <= truth[inside]).all()
            assert (truth[inside] <= upper[inside]).all()
    assert found["derived"] or spec.startswith("smo")


@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3"])
def test_settled_bounds_are_the_least_that_follow(name: str) -> None:
    """Against brute force: repeat over all transitions and all pairs until nothing changes."""
    task, space = variant(name, (0, 1, 5))
    dominance = TrueDominance(task, space, seed=5)
    store = BoundStore(task)
    pool = ComparisonPool(store, dominance)
    runner = PolicyRunner(load_policy("noisy:0.2:3+optimal", task))
    for state in sample(space, 25):
        ends = runner.run(np.array([state.values], dtype=np.int32))
        store.add_runs(runner.graph, ends.ids)
        pool.add(runner.trace(state).states)
        pool.settle()
    expected = dict.fromkeys(pool.states, math.inf)
    for state in pool.states:
        if task.is_goal(state):
            expected[state] = 0
    changed = True
    while changed:
        changed = False
        for t in pool.states:
            offers = [
                expected[s] - d
                for s in pool.states
                if math.isfinite(expected[s]) and (d := dominance.value(s, t)) is not None
            ]
            trace = runner.trace(t, 1)
            if trace.operators:
                offers.append(task.cost(trace.operators[0]) + expected[trace.states[1]])
            if min(offers, default=math.inf) < expected[t]:
                expected[t] = min(offers)
                changed = True
    assert any(math.isfinite(bound) for bound in expected.values())
    assert {s: store.bounds(s).upper for s in pool.states} == expected


def test_goal_reaching() -> None:
    task, space = variant("spanner-3", ())
    for policy in POLICIES:
        bench = bench_of(task, space, policy, objective=Objective.GOAL)
        oracle = parse_oracle("bmo(10)", bench)
        for state in sample(space, 15):
            verdict = oracle.test(state)
            best = float(space.h_star[space.find(state)])
            if verdict.is_bug:
                assert math.isfinite(best)
                assert true_cost(bench, state) == math.inf


def test_the_worked_example() -> None:
    """The policy gives up where the truck is not at the package. The run from the other place bounds the cost."""
    task = logistics(2, 1, goal=1)
    drive_b, load_a, unload_b = 0, 2, 5
    decisions: dict[tuple[int, ...], int] = {(0, 0): load_a, (0, 2): drive_b, (1, 2): unload_b}
    policy = FunctionPolicy(task, lambda state: decisions.get(state.values))
    atomic = DominanceFunction.compute(task, DominanceSettings(merged=False))
    bench = Workbench(PolicyRunner(policy), dominance=atomic)
    oracle = parse_oracle("bmo(0)", bench)
    seen = oracle.test(State([0, 0]))
    assert not seen.is_bug
    assert seen.policy_cost.lower_bound == 3
    verdict = oracle.test(State([1, 0]))
    bench.check(verdict)
    assert verdict.is_bug
    assert verdict.upper_bound == 4
    assert verdict.derivation is not None
    assert verdict.derivation.bound(task) == 4


def test_without_a_dominance_function_the_others_go_on() -> None:
    task, _ = variant("conditional", ())
    bench = Workbench(PolicyRunner(load_policy("first", task)), dominance="conditional effects")
    verdict = parse_oracle("bmo(10)+aras/ehc", bench).test(task.initial_state)
    assert verdict.problems[0] == "bmo: not applicable: conditional effects"
    assert verdict.is_bug


def test_a_function_that_is_none_is_found_out() -> None:
    """A value that is too large drives a bound below zero, which stops everything."""
    task, space = variant("blocksworld-4", ())
    bench = bench_of(task, space, "optimal")
    bench.policy_cost(task.initial_state)
    states = bench.trace(task.initial_state).states
    bench.bounds.add_dominance(states[-1], states[0], 1)
    with pytest.raises(MisstepError, match=r"internal error: .* less than nothing"):
        bench.bounds.bounds(states[0])


def test_smo_keeps_to_its_time() -> None:
    task, space = variant("transport-2", ())
    state = sample(space, 8)[3]
    verdict = parse_oracle("smo(seconds=0)", bench_of(task, space, "random:7")).test(state)
    assert verdict.limits == ("smo: time",)
    verdict = parse_oracle("smo", bench_of(task, space, "random:7")).test(state)
    assert verdict.limits == ()
