"""The check of witnesses: true verdicts pass, and each kind of wrong verdict is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from misstep.checking import parse_sas, validate_run
from misstep.errors import MisstepError
from misstep.oracles import Kind, Status, Verdict, Workbench, check_witness, parse_oracle
from misstep.oracles.derivation import Derivation, Step
from misstep.oracles.values import FAILS, Interval, exact, unknown
from misstep.oracles.verdict import judge
from misstep.oracles.witness import named_operator
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import Task
from support.metamorphic import TrueDominance
from support.oracles import sample, variant, workbench


def bugs(
    policy: str, kind: Kind, max_steps: int = 1000, outcome: str = ""
) -> tuple[Task, Trace, Verdict, int | None]:
    """A bug of that kind, as found."""
    task, space = variant("transport-2", (1, 2, 5))
    bench = workbench(task, policy, max_steps=max_steps)
    oracle = parse_oracle("exact", bench)
    for state in sample(space, 400):
        verdict = oracle.test(state)
        run = bench.trace(state)
        if verdict.kind is kind and run.operators and (not outcome or run.outcome == outcome):
            return task, run, verdict, named_operator(bench.runner, run)
    raise AssertionError("no such bug")


NOISY = "noisy:0.3:5+heuristic:ff"
COSTLY = bugs(NOISY, Kind.COSTLY)
LOOPING = bugs(NOISY, Kind.FAILS, outcome="loop")
CUT = bugs(NOISY, Kind.UNCLASSIFIED, max_steps=6, outcome="cut")
STUCK = bugs("misbehaving", Kind.FAILS, outcome="stuck")
REFUSED = bugs("misbehaving", Kind.FAILS, outcome="inapplicable")
CRASHED = bugs("misbehaving", Kind.CRASH, outcome="error")


@pytest.mark.parametrize("case", [COSTLY, LOOPING, CUT, STUCK, REFUSED, CRASHED])
def test_true_bugs_pass(case: tuple[Task, Trace, Verdict, int | None]) -> None:
    check_witness(*case)


def test_wrong_verdicts_are_refused() -> None:
    task, run, verdict, _ = COSTLY
    assert verdict.witness is not None
    wrong: list[dict[str, Any]] = [
        {"kind": Kind.FAILS},
        {"kind": Kind.UNCLASSIFIED},
        {"gap": Interval(verdict.gap.low + 1, verdict.gap.low + 1)},
        {"gap": Interval(verdict.gap.low - 1, verdict.gap.high)},
        {"witness": verdict.witness[:-1]},
        {"witness": verdict.witness[::-1]},
        {"witness": tuple(run.operators)},
        {"witness": None},
        {"upper_bound": verdict.upper_bound + 1},
        {"upper_bound": math.inf},
        {"policy_cost": FAILS},
        {"policy_cost": exact(run.cost + 1)},
        {"policy_cost": unknown(run.cost)},
        {"lower_bound": verdict.upper_bound + 1},
        {"state": run.states[1]},
        {"witness": tuple(run.operators), "upper_bound": run.cost},
        {"witness": tuple(run.operators), "witness_cost": run.cost},
        {"witness_cost": verdict.witness_cost + 1},
        {"witness_cost": math.inf},
        {"upper_bound": verdict.upper_bound + 1, "witness_cost": verdict.witness_cost + 1},
    ]
    for change in wrong:
        with pytest.raises(
            MisstepError, match=r"internal error: .*; run: Trace.*; verdict: Verdict"
        ):
            check_witness(task, run, replace(verdict, **change))
    # A verdict without a claim passes.
    check_witness(task, run, replace(verdict, status=Status.UNKNOWN, kind=None))


def test_wrong_runs_are_refused() -> None:
    task, run, verdict, _ = COSTLY
    other = run.states[0]
    wrong: list[dict[str, Any]] = [
        {"outcome": "loop"},
        {"outcome": "cut"},
        {"outcome": "stuck"},
        {"outcome": "unheard of"},
        {"cost": run.cost + 1},
        {"states": run.states[:-1]},
        {"states": run.states[:-1], "operators": run.operators[:-1]},
        {"states": [*run.states[:-1], other]},
        {"operators": run.operators[::-1]},
    ]
    for change in wrong:
        with pytest.raises(MisstepError, match="internal error"):
            check_witness(task, replace(run, **change), verdict)
    for task, run, verdict, named in (LOOPING, STUCK, CUT):
        for outcome in {"goal", "loop", "stuck", "cut", "inapplicable", "error"} - {run.outcome}:
            with pytest.raises(MisstepError, match="internal error"):
                check_witness(task, replace(run, outcome=outcome), verdict, named)


def test_the_operator_that_did_not_apply_is_checked() -> None:
    task, run, verdict, named = REFUSED
    assert named is not None
    with pytest.raises(MisstepError, match="is not given"):
        check_witness(task, run, verdict)
    with pytest.raises(MisstepError, match="applies in the last state"):
        check_witness(task, run, verdict, task.applicable(run.states[-1])[0])


def test_the_loop_of_a_run_is_checked() -> None:
    task, run, _, _ = LOOPING
    twin = parse_sas(task.sas.decode(), task.name)
    states = [s.values for s in run.states]
    names = [task.operator_name(op) for op in run.operators]
    assert validate_run(twin, states, names, "loop").valid
    assert "seen before" in validate_run(twin, states, names, "cut").reason
    # A run that is cut before it closes the loop is not a loop.
    part = validate_run(twin, states[:-1], names[:-1], "loop")
    assert "was not seen before" in part.reason
    assert validate_run(twin, states[:-1], names[:-1], "cut").valid
    # A run that continues after the loop is closed is one step too long.
    first = states.index(states[-1])
    again = validate_run(twin, [*states, states[first + 1]], [*names, names[first]], "loop")
    assert "comes back" in again.reason


def derived_bug() -> tuple[Workbench, Verdict]:
    """A bug with a plan, and a derivation that proves a larger gap."""
    task, space = variant("transport-2", (0, 1, 5))
    runner = PolicyRunner(load_policy(NOISY, task))
    bench = Workbench(runner, dominance=TrueDominance(task, space, seed=1))
    for state in sample(space, 400):
        verdict = parse_oracle("gbfs(500) | bmo(30)", bench).test(state)
        if verdict.derivation is not None and verdict.plan_proves_bug:
            return bench, verdict
    raise AssertionError("no such bug")


def test_a_plan_beside_a_derivation() -> None:
    """Both are checked, each at its own cost."""
    bench, verdict = derived_bug()
    assert verdict.derivation is not None
    assert verdict.witness is not None
    bench.check(verdict)
    steps = verdict.derivation.steps
    weaker = max(0, verdict.gap.low - (verdict.witness_cost - verdict.upper_bound))
    wrong: list[dict[str, Any]] = [
        {"witness": verdict.witness[:-1]},
        {"witness": None},
        {"witness_cost": verdict.upper_bound},
        {"witness_cost": verdict.witness_cost + 1},
        {"derivation": None},
        {"derivation": replace(verdict.derivation, steps=steps[:-1])},
        {"upper_bound": verdict.upper_bound - 1},
        {"upper_bound": verdict.upper_bound + 1},
        {"upper_bound": verdict.witness_cost},
        {"gap": Interval(verdict.gap.low + 1, math.inf)},
    ]
    if math.isfinite(verdict.gap.low):
        wrong.append({"gap": Interval(weaker, verdict.gap.high)})  # what the plan alone proves
    for change in wrong:
        if change == {"gap": verdict.gap}:
            continue
        with pytest.raises(MisstepError, match="internal error"):
            bench.check(replace(verdict, **change))
    # A derivation that proves no more than the plan is refused beside it.
    plan = tuple(Step(op, verdict.state) for op in verdict.witness)
    with pytest.raises(MisstepError, match="internal error"):
        bench.check(replace(verdict, derivation=Derivation(plan), upper_bound=verdict.witness_cost))


def test_judge_keeps_the_derivation_only_where_it_proves_more() -> None:
    bench, verdict = derived_bug()
    better = judge(
        verdict.state,
        verdict.policy_cost,
        0,
        verdict.upper_bound,
        verdict.witness,
        derivation=verdict.derivation,
        witness_cost=verdict.witness_cost,
    )
    assert better.derivation is verdict.derivation
    assert (better.upper_bound, better.witness_cost) == (verdict.upper_bound, verdict.witness_cost)
    same = judge(
        verdict.state,
        verdict.policy_cost,
        0,
        verdict.upper_bound,
        verdict.witness,
        derivation=verdict.derivation,
        witness_cost=verdict.upper_bound,
    )
    assert same.derivation is None
    alone = judge(verdict.state, verdict.policy_cost, 0, 3, None, derivation=verdict.derivation)
    assert (alone.witness, alone.witness_cost) == (None, math.inf)
    with pytest.raises(ValueError, match="the upper bound"):
        judge(verdict.state, verdict.policy_cost, 0, 3, (0,), witness_cost=4)
    assert bench.bounds.plan_cost(verdict.state) == verdict.witness_cost
