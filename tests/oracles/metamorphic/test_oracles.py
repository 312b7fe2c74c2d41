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
from misstep.oracles.concrete import with_plan
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from misstep.oracles.grammar import read_oracle
from misstep.oracles.metamorphic.oracles import BoundMaintenance, StateMorphing
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.oracles.oracle import Question, Report, Route, Sequence, Source, Union
from misstep.policies.function import FunctionPolicy
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.dominance import logistics
from support.metamorphic import TrueDominance
from support.oracles import (
    POLICIES,
    dominance_of,
    sample,
    true_cost,
    true_gap,
    variant,
    workbench,
)
from support.policies import Misbehaving

SPECS = [
    "smo(5, sample=false)",
    "smo(3, seed=7)",
    "bmo(0)",
    "bmo(20)",
    "bmo(5, path=false)",
    "bmo(10)+aras/ehc",
    "aras(50)+bmo(20, best=true)",
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
def test_verdicts_agree_with_exact_distances(name: str, spec: str) -> None:
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
                gap = true_gap(cost, best)
                assert gap in verdict.gap
                assert not verdict.is_bug or gap > 0
                if verdict.derivation is not None:
                    assert verdict.derivation.bound(task) == verdict.upper_bound
                    assert verdict.upper_bound < verdict.witness_cost
                    found["derived"] += verdict.is_bug
                    found["both"] += verdict.is_bug and verdict.witness is not None
                else:
                    assert verdict.upper_bound == verdict.witness_cost
            lower, upper = bench.bounds.graph.all_bounds()
            ids = [
                space.find(row)
                for row in map(type(task.initial_state), bench.bounds.graph.states().tolist())
            ]
            truth = np.array([space.h_star[s] if s >= 0 else math.nan for s in ids])
            inside = ~np.isnan(truth)
            assert (lower[inside] <= truth[inside]).all()
            assert (truth[inside] <= upper[inside]).all()
    assert found["derived"] or not spec.startswith("bmo")


@pytest.mark.parametrize("name", ["blocksworld-4", "spanner-3"])
def test_settled_bounds_are_the_least_that_follow(name: str) -> None:
    """They agree with brute force, which repeats over all transitions and all pairs until nothing changes."""
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


def test_only_failing_runs_are_bugs_if_the_goal_is_the_objective() -> None:
    task, space = variant("spanner-3", ())
    bugs = 0
    for policy in POLICIES:
        bench = bench_of(task, space, policy, objective=Objective.GOAL)
        oracle = parse_oracle("bmo(10)", bench)
        for state in sample(space, 15):
            verdict = oracle.test(state)
            best = float(space.h_star[space.find(state)])
            if verdict.is_bug:
                bugs += 1
                assert math.isfinite(best)
                assert true_cost(bench, state) == math.inf
    assert bugs


def test_the_worked_example() -> None:
    """The policy gives up where the truck is not at the package. The run from the other place bounds the cost there."""
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


def test_without_a_dominance_function_the_other_oracles_continue() -> None:
    task, _ = variant("conditional", ())
    bench = Workbench(PolicyRunner(load_policy("first", task)), dominance="conditional effects")
    verdict = parse_oracle("bmo(10)+aras/ehc", bench).test(task.initial_state)
    assert verdict.problems[0] == "bmo: not applicable: conditional effects"
    assert verdict.is_bug


def test_a_function_that_is_not_a_dominance_function_causes_a_contradiction() -> None:
    """A value that is too large gives a negative bound, which is a contradiction."""
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


def test_the_states_that_smo_draws_depend_on_seed_and_state_alone() -> None:
    """They do not depend on which states were tested before."""
    task, space = variant("transport-2", ())
    states = [s for s in sample(space, 30) if not task.is_goal(s)]

    def drawn(spec: str, order: list[State]) -> dict[State, list[tuple[State, int]]]:
        bench = workbench(task, "random:7")
        oracle = read_oracle(spec)
        assert isinstance(oracle, StateMorphing)
        assert not isinstance(bench.dominance, str)
        found = {}
        for state in order:
            question = Question(bench, state, None, bench.policy_cost(state))
            found[state] = oracle.draw(question, bench.dominance)[0]
        return found

    first = drawn("smo(2)", states)
    assert first == drawn("smo(2)", states[::-1])
    assert first != drawn("smo(2, seed=1)", states)
    best = drawn("smo(2, sample=false)", states)
    assert first != best
    # One permutation for all states would draw the same places from lists of the same length.
    dominance = dominance_of(task)
    assert not isinstance(dominance, str)
    places = set()
    for state, morphs in first.items():
        candidates = [m for m, _ in dominance.morphs(state)]
        places.add((len(candidates), *(candidates.index(m) for m, _ in morphs)))
    assert len(places) > len({length for length, *_ in places})


class Silent(Source):
    """An oracle that decides everything, and keeps the states that it was asked about."""

    name = "silent"

    def search(self, question: Question) -> Report:
        question.bench.bounds.close(question.state)
        return Report()


@pytest.mark.parametrize("path", [True, False])
def test_bound_maintenance_sees_states_that_were_decided_before_its_turn(path: bool) -> None:
    task, space = variant("transport-2", ())
    states = sample(space, 12)
    for spec in (
        Sequence([Silent(), BoundMaintenance(5, path=path)]),
        Sequence([Silent(), Union([Route(BoundMaintenance(0, path=path), Silent()), Silent()])]),
    ):
        bench = bench_of(task, space, "noisy:0.2:3+optimal")
        oracle = spec.on(bench)
        for state in states:
            verdict = oracle.test(state)
            assert verdict.is_decided
            assert verdict.oracle in ("silent", None)  # None: known from an earlier state
        assert bench.pool is not None
        seen = {s for state in states for s in (bench.trace(state).states if path else [state])}
        assert set(bench.pool.states) == seen


def test_what_another_oracle_finds_reaches_the_pool() -> None:
    """Algorithm 5, lines 7 to 11: a bound that the external oracle found bounds the states tested before."""
    task = logistics(2, 1, goal=1)
    policy = FunctionPolicy(task, lambda _: None)  # always gives up
    atomic = DominanceFunction.compute(task, DominanceSettings(merged=False))
    bench = Workbench(PolicyRunner(policy), dominance=atomic)
    before = parse_oracle("bmo(0)", bench).test(State([1, 0]))
    assert not before.is_bug
    parse_oracle("exact(1) | bmo(0) | astar", bench).test(State([0, 0]))
    after = bench.verdict_of(State([1, 0]))
    assert after.is_bug
    bench.check(after)


def test_without_a_dominance_function_observing_is_no_problem() -> None:
    task, space = variant("transport-2", ())
    bench = Workbench(PolicyRunner(load_policy("optimal", task)), dominance="none today")
    verdict = parse_oracle("exact, bmo(10)", bench).test(space.state(0))
    assert (verdict.problems, bench.pool) == ((), None)


def test_bmo_improves_the_gap_further_if_asked_to() -> None:
    better = 0
    for name in ("blocksworld-4", "transport-2", "gripper-4"):
        task, space = variant(name, (1, 2, 5))
        for state in sample(space, 25):
            gaps = []
            for spec in ("bmo(60)", "bmo(60, best=true)"):
                bench = workbench(task, "noisy:0.3:5+heuristic:ff")
                verdict = parse_oracle(spec, bench).test(state)
                bench.check(verdict)
                gaps.append(verdict.gap.low)
            assert gaps[0] <= gaps[1]
            better += gaps[0] < gaps[1]
    assert better


def test_a_derivation_that_proves_more_is_not_hidden_by_a_plan() -> None:
    found: Counter[str] = Counter()
    for name in ("blocksworld-4", "transport-2"):
        task, space = variant(name, (0, 1, 5))
        benches = [bench_of(task, space, "noisy:0.3:5+heuristic:ff") for _ in range(2)]
        for number, state in enumerate(sample(space, 60)):
            bench = benches[number % 2]
            spec = ("gbfs(500) | bmo(30)", "bmo(0)")[number % 2]
            verdict = parse_oracle(spec, bench).test(state)
            bench.check(verdict)
            if not verdict.is_bug:
                continue
            best = float(space.h_star[space.find(state)])
            assert best <= verdict.upper_bound <= verdict.witness_cost
            assert verdict.upper_bound == bench.bounds.bounds(state).upper
            if verdict.policy_cost.reaches_goal:
                assert verdict.gap.low == verdict.policy_cost.lower_bound - verdict.upper_bound
            if verdict.derivation is None:
                assert verdict.witness is not None
                found["plan alone"] += 1
                continue
            found["both" if verdict.witness is not None else "derivation alone"] += 1
            concrete = with_plan(bench, verdict)
            bench.check(concrete)
            assert concrete.upper_bound <= verdict.upper_bound
            assert concrete.gap.low >= verdict.gap.low
            found["made concrete"] += concrete.plan_proves_bug and not verdict.plan_proves_bug
            if concrete.derivation is not None:
                assert concrete.upper_bound < concrete.witness_cost
    assert min(found[kind] for kind in ("plan alone", "both", "made concrete")) > 0, found


@pytest.mark.parametrize("native", [False, True])
def test_a_seeded_pool_continues_where_another_stopped(native: bool) -> None:
    task, space = variant("spanner-3", (0, 1, 5))
    dominance = DominanceFunction.compute(task) if native else TrueDominance(task, space, seed=5)
    store = BoundStore(task)
    pool = ComparisonPool(store, dominance)
    runner = PolicyRunner(load_policy("noisy:0.2:3+optimal", task))
    for state in sample(space, 25):
        ends = runner.run(np.array([state.values], dtype=np.int32))
        store.add_runs(runner.graph, ends.ids)
        pool.add(runner.trace(state).states)
    pool.settle()
    values = np.array([state.values for state in pool.states], dtype=np.int32)
    upper = store.graph.upper_bounds(values)
    assert np.isfinite(upper).any()
    assert np.isinf(upper).any()
    seeded = ComparisonPool(store, dominance)
    seeded.seed(values)
    everything = np.array([space.state(s).values for s in range(len(space))], dtype=np.int32)
    assert (
        seeded.index.pull_batch(everything)[0].tolist()
        == pool.index.pull_batch(everything)[0].tolist()
    )
    seeded.settle()
    assert seeded.comparisons == 0  # there is nothing to tell
