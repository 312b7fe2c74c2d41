"""Each oracle alone: what it finds and its limits; and how oracles are combined."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.errors import MisstepError
from misstep.oracles import Kind, Objective, Status, Walk, Workbench, is_fuzzing_bug, parse_oracle
from misstep.oracles.grammar import needs_dominance, read_oracle
from misstep.oracles.oracle import Question, Report, Route, Sequence, Source, Union
from misstep.oracles.values import FAILS, exact, unknown
from misstep.oracles.verdict import Effort, judge
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.oracles import (
    naive_lookahead,
    sample,
    true_cost,
    variant,
    verdicts_along,
    workbench,
)
from support.tasks import sas

NOISY = "noisy:0.3:5+heuristic:ff"


@pytest.mark.parametrize("costs", [(), (0, 1, 5), (2, 3)])
@pytest.mark.parametrize("policy", [NOISY, "first", "misbehaving"])
@pytest.mark.parametrize("name", ["transport-2", "spanner-3", "conditional"])
def test_lookahead_finds_what_the_naive_one_finds(
    name: str, policy: str, costs: tuple[int, ...]
) -> None:
    task, space = variant(name, costs)
    for state in sample(space, 12):
        for depth in range(4):
            for first in ("false", "true"):
                bench = workbench(task, policy)
                verdict = parse_oracle(f"lookahead({depth}, first={first})", bench).test(state)
                cost = true_cost(bench, state)
                naive = min(cost, naive_lookahead(bench, state, depth))
                assert verdict.is_bug == (naive < cost)
                if first == "false":
                    # Paths through the runs of the leaves may be even cheaper where costs and numbers of steps differ.
                    assert verdict.upper_bound <= naive
                    assert costs or math.isinf(naive) or verdict.upper_bound == naive


@pytest.mark.parametrize("costs", [(), (0, 1, 5)])
@pytest.mark.parametrize("name", ["transport-2", "spanner-3", "conditional"])
def test_the_census_of_a_small_task_is_the_truth(name: str, costs: tuple[int, ...]) -> None:
    task, space = variant(name, costs)
    for place in range(0, len(space), 1 + len(space) // 200):
        bench = workbench(task, NOISY)  # a new one each time: nothing is known of the state
        verdict = parse_oracle("census", bench).test(space.state(place))
        assert verdict.lower_bound == space.h_star[place]
        assert verdict.upper_bound == space.h_star[place]
        assert verdict.is_decided
        bench.check(verdict)


def test_the_census_of_a_large_task_leaves_everything_open() -> None:
    task, space = variant("transport-2", ())
    bench = workbench(task, NOISY)
    oracle = parse_oracle(f"census({len(space) - 1})", bench)
    assert not any(oracle.test(state).is_bug for state in sample(space, 12))
    assert parse_oracle(f"census({len(space)})", bench).test(task.initial_state).is_decided


def test_a_census_leaves_unreachable_states_open() -> None:
    task, space = variant("spanner-3", ())
    unreachable = next(
        state
        for values in itertools.product(*map(range, task.domain_sizes))
        if space.find(state := State(values)) < 0 and not task.is_goal(state)
    )
    bench = workbench(task, NOISY)
    before = bench.verdict_of(unreachable)
    verdict = parse_oracle("census", bench).test(unreachable)
    assert (verdict.lower_bound, verdict.upper_bound) == (before.lower_bound, before.upper_bound)


def test_no_search_is_started_where_the_cheapest_plan_is_known() -> None:
    """A run that is cut leaves the verdict open, and no search can change that."""
    task, space = variant("transport-2", ())
    bench = workbench(task, "first", max_steps=1)
    oracle = parse_oracle("census, bmo(10), ehc", bench)
    open_ones = [oracle.test(state) for state in sample(space, 12)]
    assert any(not verdict.is_decided for verdict in open_ones)
    assert all(verdict.effort.evaluations == 0 for verdict in open_ones)


@pytest.mark.parametrize("spec", ["census, bmo(10)", "(lmcut, census) | ehc, bmo(10)"])
def test_no_oracle_is_asked_after_one_that_settles_the_task(spec: str) -> None:
    task, space = variant("transport-2", ())
    bench = workbench(task, NOISY)
    assert not needs_dominance(spec, task)
    assert needs_dominance(spec)
    assert needs_dominance(spec.replace("census", f"census({len(space) - 1})"), task)
    oracle = parse_oracle(spec, bench)
    for state in sample(space, 12):
        assert oracle.test(state).is_decided
    assert bench.pool is None


def test_lookahead_asks_in_batches_and_only_as_far_as_needed() -> None:
    task, space = variant("transport-2", ())
    bench = workbench(task, "misbehaving")
    policy = bench.runner.policy
    for state in sample(space, 10):
        parse_oracle("lookahead(3)", bench).test(state)
    assert max(policy.batches) > 1  # type: ignore[attr-defined]
    bench = workbench(task, "optimal")
    best = int(space.h_star[0])
    verdict = parse_oracle("lookahead(2)", bench).test(task.initial_state)
    assert verdict.effort.policy_calls > 0
    # No run from a leaf was followed further than it could be better than the one from the state.
    everything = np.arange(len(bench.runner.graph), dtype=np.uint32)
    asked = everything[bench.runner.graph.decisions(everything) != -3]
    for row in bench.runner.graph.states(asked):
        on_run = State(row.tolist())
        steps = shortest_way(space, task.initial_state, on_run)
        assert steps <= best + 1


def shortest_way(space: StateSpace, start: State, end: State) -> int:
    """The path from the root of the space along its breadth-first tree."""
    steps, here = 0, space.find(end)
    while here != space.find(start):
        steps, here = steps + 1, int(space.parents[here])
    return steps


def test_elimination_needs_a_plan() -> None:
    task, space = variant("gripper-4", ())
    bench = workbench(task, "first")
    verdicts = [parse_oracle("elimination", bench).test(s) for s in sample(space, 30)]
    assert {v.status for v in verdicts if v.policy_cost == FAILS} == {Status.UNKNOWN}


def test_lmcut_proves_optimality_or_leaves_it_open() -> None:
    task, space = variant("spanner-3", ())
    bench = workbench(task, "optimal")
    oracle = parse_oracle("lmcut", bench)
    verdicts = [oracle.test(s) for s in sample(space, 200)]
    assert {v.status for v in verdicts} == {Status.OPTIMAL, Status.UNKNOWN}
    assert any(math.isinf(v.lower_bound) for v in verdicts)  # dead ends: nobody's fault
    assert all(v.status is Status.OPTIMAL for v in verdicts if math.isinf(v.lower_bound))


def test_astar_decides_everything_within_its_budget() -> None:
    task, space = variant("blocksworld-4", ())
    for policy in ("optimal", "first", NOISY):
        bench = workbench(task, policy)
        oracle = parse_oracle("astar(evaluations=1000000)", bench)
        for state in sample(space, 30):
            verdict = oracle.test(state)
            assert verdict.is_decided
            assert verdict.gap.is_exact
    task, _ = variant("gripper-4", ())
    limited = parse_oracle("astar(expansions=1)", workbench(task, "optimal"))
    verdict = limited.test(task.initial_state)
    assert verdict.status is Status.UNKNOWN
    assert verdict.limits == ("astar: expansions",)
    assert 0 < verdict.lower_bound < verdict.upper_bound  # also what it did not finish counts


def test_time_outs_are_unknown_and_reported() -> None:
    task, _ = variant("gripper-4", ())
    for name in ("astar", "ehc", "gbfs", "exact", "aras", "elimination"):
        bench = workbench(task, "optimal" if name != "ehc" else "first")
        verdict = parse_oracle(f"{name}(seconds=0)", bench).test(task.initial_state)
        assert verdict.status is Status.UNKNOWN
        assert verdict.limits == (f"{name}: time",)


def test_memory_limits_are_reported() -> None:
    task, space = variant("blocksworld-4", ())
    for name in ("astar", "gbfs"):
        bench = workbench(task, "first")
        verdict = parse_oracle(f"{name}(memory=0)", bench).test(sample(space, 20)[7])
        assert verdict.limits == (f"{name}: memory",)
    bench = workbench(task, "optimal")
    verdict = parse_oracle("aras(memory=0)", bench).test(task.initial_state)
    assert verdict.limits == ("aras: memory",)


def test_undo_reports_its_limits() -> None:
    """On a one-way ring with a light at its start, the only path back leads around the whole ring."""
    steps = [f"0\n1\n0 0 {i} {(i + 1) % 9}\n1" for i in range(9)]
    light = "1\n0 0\n1\n0 1 0 1\n1"
    task = Task(sas([9, 2], [0, 0], [(0, 0), (1, 1)], [light, *steps]).encode())
    start = task.initial_state
    for spec, limits, expansions in (
        ("undo(3)", ("undo: expansions",), 3),
        ("undo(seconds=0)", ("undo: time",), 0),
        ("undo", (), 8),
    ):
        oracle = parse_oracle(spec, workbench(task, "optimal", max_steps=2))
        verdict = oracle.test(task.apply(start, 1), walk=Walk(start, (1,)))
        assert (verdict.limits, verdict.effort.expansions) == (limits, expansions)
        assert math.isfinite(verdict.upper_bound) == (not limits)


class Crashing(Source):
    name = "crashing"

    def search(self, question: Question) -> Report:
        raise RuntimeError(f"no luck in {question.state[0] >= 0}")


class Lying(Source):
    name = "lying"

    def search(self, question: Question) -> Report:
        question.bench.bounds.add_plan(question.state, [0], 1)
        return Report()


class Liar(Source):
    """An oracle that claims a lower bound above the cost of a known plan."""

    name = "liar"

    def search(self, question: Question) -> Report:
        upper = question.bench.bounds.bounds(question.state).upper
        question.bench.bounds.raise_lower_bound(question.state, upper + 1)
        return Report()


def test_a_crash_leaves_the_verdict_unknown_and_a_contradiction_raises_an_error() -> None:
    task, _ = variant("gripper-4", ())
    bench = workbench(task, "optimal")
    verdict = Crashing().on(bench).test(task.initial_state)
    assert verdict.status is Status.UNKNOWN
    assert verdict.problems == ("crashing: RuntimeError: no luck in True",)
    after = Sequence([Crashing(), read_oracle("exact")]).on(bench)
    assert after.test(task.initial_state).status is Status.OPTIMAL
    with pytest.raises(MisstepError, match="internal error: an oracle found an invalid plan"):
        Lying().on(workbench(task, "optimal")).test(task.initial_state)
    with pytest.raises(MisstepError, match="internal error: no plan is said to be cheaper"):
        Liar().on(workbench(task, "optimal")).test(task.initial_state)


class Counting(Source):
    name = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[State] = []
        self.walks: list[Walk | None] = []

    def search(self, question: Question) -> Report:
        self.asked.append(question.state)
        self.walks.append(question.walk)
        return Report(expansions=2, evaluations=3)


def test_sequences_stop_at_the_first_verdict_and_unions_do_not() -> None:
    task, _ = variant("gripper-4", ())
    state = task.initial_state
    bench = workbench(task, "first")
    bug = read_oracle("ehc")
    before, behind = Counting(), Counting()
    walk = Walk(state, ())
    verdict = Sequence([before, bug, behind]).on(bench).test(state, walk=walk)
    assert verdict.is_bug
    assert (verdict.oracle, verdict.kind) == ("ehc", Kind.FAILS)
    assert (before.asked, behind.asked) == ([state], [])
    assert before.walks == [walk]
    assert verdict.effort.expansions > 2
    assert verdict.effort.evaluations > 3
    assert verdict.effort.seconds > 0
    # The store knows it now.
    again = Sequence([before, bug]).on(bench).test(state)
    assert again.is_bug
    assert again.oracle is None
    assert len(before.asked) == 1

    bench = workbench(task, NOISY)
    space = variant("gripper-4", ())[1]
    costly = [s for s in sample(space, 200) if is_costly(bench, s)]
    state = max(costly, key=lambda s: int(space.h_star[space.find(s)]))
    union = Union([read_oracle("gbfs"), last := Counting()])
    union.on(bench).test(state)
    assert last.asked == [state]
    best = parse_oracle("gbfs | astar", bench).test(state)
    assert best.gap.is_exact  # the second has gone on where the first had a bug already


def is_costly(bench: Workbench, state: State) -> bool:
    return parse_oracle("exact", workbench(bench.task, NOISY)).test(state).kind is Kind.COSTLY


def test_routes_choose_the_oracle_by_the_outcome_of_the_run() -> None:
    task, space = variant("gripper-4", ())
    for policy, max_steps in (("optimal", 1000), ("first", 1000), ("optimal", 2)):
        bench = workbench(task, policy, max_steps=max_steps)
        reached, otherwise = Counting(), Counting()
        oracle = Route(reached, otherwise).on(bench)
        verdicts = [oracle.test(s) for s in sample(space, 20)]
        done = {v.state for v in verdicts if v.gap.is_exact}
        assert set(reached.asked) == {
            v.state for v in verdicts if v.policy_cost.reaches_goal and v.state not in done
        }
        assert set(otherwise.asked) == {
            v.state for v in verdicts if not v.policy_cost.reaches_goal and v.state not in done
        }


def test_gaps_along_a_run_are_exact_and_never_increase() -> None:
    task, space = variant("transport-2", (1, 2, 5))
    for policy in (NOISY, "first"):
        bench = workbench(task, policy)
        oracle = parse_oracle("exact", bench)
        for state in sample(space, 10):
            oracle.test(state)
            verdicts = verdicts_along(bench, state)
            gaps = [v.gap.low for v in verdicts]
            assert all(v.gap.is_exact for v in verdicts)
            assert gaps == sorted(gaps, reverse=True)


def test_predecessors_of_a_bug_are_bugs_without_a_search() -> None:
    task, space = variant("transport-2", ())
    bench = workbench(task, NOISY)
    state = max(sample(space, 100), key=lambda s: len(bench.trace(s).operators))
    run = bench.trace(state).states
    costly = next(s for s in reversed(run[:-1]) if is_costly(bench, s))
    found = parse_oracle("aras", bench).test(costly)
    assert found.is_bug
    assert bench.verdict_of(state).is_bug
    assert bench.verdict_of(state).gap.low >= found.gap.low


ZERO_COST_LOOP = sas(
    [3], [0], [(0, 2)], ["0\n1\n0 0 0 1\n0", "0\n1\n0 0 1 2\n0", "0\n1\n0 0 0 2\n0"]
)


def test_detours_of_cost_zero_are_not_bugs() -> None:
    task = Task(ZERO_COST_LOOP.encode())
    bench = workbench(task, "first")
    assert len(bench.trace(task.initial_state).operators) == 2
    verdict = parse_oracle("elimination | aras | astar", bench).test(task.initial_state)
    assert (verdict.status, verdict.gap.high) == (Status.OPTIMAL, 0)


def test_goal_states_are_never_bugs() -> None:
    task, space = variant("gripper-4", ())
    bench = workbench(task, "first")
    goal = next(space.state(s) for s in range(len(space)) if space.is_goal[s])
    verdict = parse_oracle("lookahead(2) | ehc | astar", bench).test(goal)
    assert (verdict.status, verdict.witness, verdict.effort.policy_calls) == (Status.OPTIMAL, (), 0)


@pytest.mark.parametrize("policy", ["first", "misbehaving"])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("max_steps", [0, 1000, None])
def test_goal_states_are_solved_at_no_cost(
    policy: str, objective: Objective, max_steps: int | None
) -> None:
    """Whatever the policy would decide there."""
    task, space = variant("gripper-4", ())
    goals = [space.state(s) for s in range(len(space)) if space.is_goal[s]]
    for spec in ("lmcut", "exact, bmo(10)", "bmo(10)+aras/ehc", "p22", "p23"):
        bench = workbench(task, policy, objective=objective, max_steps=max_steps)
        for state in goals:
            run = bench.trace(state)
            assert (run.outcome, run.operators, run.cost) == ("goal", [], 0)
            verdict = parse_oracle(spec, bench).test(state)
            bench.check(verdict)
            assert (verdict.status, verdict.gap.low, verdict.gap.high) == (Status.OPTIMAL, 0, 0)
            assert (verdict.policy_cost, verdict.upper_bound, verdict.witness) == (exact(0), 0, ())


def test_aras_improves_the_gap_further_if_asked_to() -> None:
    """It does so also after an oracle that has proven a smaller gap. If it is not asked to, it is not even started."""
    better = 0
    for name in ("blocksworld-4", "transport-2"):
        task, space = variant(name, (1, 2, 5))
        for state in sample(space, 30):
            gaps = {}
            for spec in (
                "aras",
                "aras(best=true)",
                "elimination, aras",
                "elimination, aras(best=true)",
                "elimination, (lmcut | aras(best=true))/ehc",
            ):
                bench = workbench(task, "noisy:0.4:5+heuristic:ff")
                verdict = parse_oracle(spec, bench).test(state)
                bench.check(verdict)
                gaps[spec] = verdict.gap.low
                if verdict.policy_cost.reaches_goal and "best" in spec and not verdict.limits:
                    best = float(space.h_star[space.find(state)])
                    assert verdict.gap.low == verdict.policy_cost.lower_bound - best
            assert gaps["aras"] <= gaps["aras(best=true)"]
            assert gaps["elimination, aras"] <= gaps["elimination, aras(best=true)"]
            better += gaps["elimination, aras"] < gaps["elimination, aras(best=true)"]
    assert better


def test_only_failing_runs_are_bugs_if_the_goal_is_the_objective() -> None:
    task, space = variant("spanner-3", ())
    for policy in ("first", NOISY, "optimal"):
        bench = workbench(task, policy, objective=Objective.GOAL)
        oracle = parse_oracle("exact", bench)
        for s in range(0, len(space), 3):
            verdict = oracle.test(space.state(s))
            cost = true_cost(bench, space.state(s))
            assert verdict.is_bug == (math.isinf(cost) and math.isfinite(space.h_star[s]))
            assert verdict.is_decided
            assert verdict.gap.low == verdict.gap.high == verdict.is_bug
            assert verdict.kind in (None, Kind.FAILS)


def test_fuzzing_bugs() -> None:
    state = State([0])

    def verdict(cost: object, lower: float, upper: float) -> object:
        plan = None if math.isinf(upper) else (0,)
        return judge(state, cost, lower, upper, plan)  # type: ignore[arg-type]

    small, large = verdict(exact(7), 6, 6), verdict(exact(7), 2, 2)
    wide, fails = verdict(exact(7), 1, 6), verdict(FAILS, 1, 6)
    open_end, dead = verdict(unknown(7), 1, 3), verdict(FAILS, math.inf, math.inf)
    table = [
        (large, small, True),
        (small, large, False),
        (small, small, False),
        (large, wide, None),
        (wide, dead, True),
        (fails, large, True),
        (fails, fails, False),
        (dead, fails, False),
        (open_end, small, True),  # loses 4 at least
        (open_end, large, None),
        (large, open_end, None),
        (dead, open_end, False),
    ]
    for one, reference, expected in table:
        assert is_fuzzing_bug(one, reference) is expected  # type: ignore[arg-type]


def test_efforts_add_up_and_do_not_count_as_difference() -> None:
    assert Effort(1, 2, 3, 4) + Effort(1, 1, 1, 1) == Effort(2, 3, 4, 5)
    state = State([0])
    with pytest.raises(ValueError, match="the upper bound is 3, the plan None"):
        judge(state, exact(3), 0, 3, None)
    assert judge(state, exact(3), 0, 3, (0,)) == judge(state, exact(3), 0, 3, (0,))


def test_the_same_states_get_the_same_verdicts_again() -> None:
    task, space = variant("transport-2", (0, 1, 5))
    states = sample(space, 40)

    def verdicts(batch_size: int) -> list[object]:
        runner = PolicyRunner(load_policy(NOISY, task), batch_size=batch_size)
        bench = Workbench(runner)
        oracle = parse_oracle("lmcut, elimination, lookahead(2), aras(5000)/ehc", bench)
        return [oracle.test(state) for state in states]

    assert verdicts(1) == verdicts(64)
