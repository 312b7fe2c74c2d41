"""The witness check: true verdicts pass, and every way to be wrong is noticed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from misstep.checking import parse_sas, validate_run
from misstep.errors import MisstepError
from misstep.oracles import Kind, Status, Verdict, check_witness, parse_oracle
from misstep.oracles.values import FAILS, Interval, exact, unknown
from misstep.oracles.witness import named_operator
from misstep.runs.runner import Trace
from misstep.tasks.task import Task
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
CRASHED = bugs("misbehaving", Kind.UNCLASSIFIED, outcome="error")


@pytest.mark.parametrize("case", [COSTLY, LOOPING, CUT, STUCK, REFUSED, CRASHED])
def test_true_bugs_pass(case: tuple[Task, Trace, Verdict, int | None]) -> None:
    check_witness(*case)


def test_wrong_verdicts() -> None:
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
    ]
    for change in wrong:
        with pytest.raises(
            MisstepError, match=r"internal error: .*; run: Trace.*; verdict: Verdict"
        ):
            check_witness(task, run, replace(verdict, **change))
    # Without a claim there is less to be wrong.
    check_witness(task, run, replace(verdict, status=Status.UNKNOWN, kind=None))


def test_wrong_runs() -> None:
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
            if {outcome, run.outcome} <= {"cut", "error"}:
                continue  # these claim the same
            with pytest.raises(MisstepError, match="internal error"):
                check_witness(task, replace(run, outcome=outcome), verdict, named)


def test_the_operator_that_did_not_apply() -> None:
    task, run, verdict, named = REFUSED
    assert named is not None
    with pytest.raises(MisstepError, match="is not given"):
        check_witness(task, run, verdict)
    with pytest.raises(MisstepError, match="applies in the last state"):
        check_witness(task, run, verdict, task.applicable(run.states[-1])[0])


def test_runs_that_come_back() -> None:
    task, run, _, _ = LOOPING
    twin = parse_sas(task.sas.decode(), task.name)
    states = [s.values for s in run.states]
    names = [task.operator_name(op) for op in run.operators]
    assert validate_run(twin, states, names, "loop").valid
    assert "seen before" in validate_run(twin, states, names, "cut").reason
    # Cut before it closes, it is no loop.
    part = validate_run(twin, states[:-1], names[:-1], "loop")
    assert "was not seen before" in part.reason
    assert validate_run(twin, states[:-1], names[:-1], "cut").valid
    # Once around and on is one step too many.
    first = states.index(states[-1])
    again = validate_run(twin, [*states, states[first + 1]], [*names, names[first]], "loop")
    assert "comes back" in again.reason
