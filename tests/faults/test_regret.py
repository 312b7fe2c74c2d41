"""Regrets sum to the gap on the runs from all states, and faults proven from bounds are faults."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import pytest

from misstep._core import HMax
from misstep.errors import UsageError
from misstep.faults.regret import Value, bounded_regrets
from misstep.runs.runner import Trace
from misstep.tasks.task import State, Task
from support.tasks import sas
from support.worlds import COSTS, NAMES, POLICIES, World, exact_regrets, world


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_regrets_sum_to_the_gap(name: str, costs: tuple[int, ...]) -> None:
    assert sums(world(name, costs), 150)["goal"] > 0


def sums(here: World, count: int) -> Counter[str]:
    """Checks the runs of all policies from that many states, and counts their outcomes."""
    seen: Counter[str] = Counter()
    for spec in POLICIES:
        runner = here.runner(spec)
        for state in here.states(count):
            trace = runner.trace(state, max_steps=None)
            seen[trace.outcome] += 1
            result = exact_regrets(here.task, trace, here.h_star, here.length)
            h = here.h_star(state)
            assert all(d.exact and d.low >= 0 for d in result.decisions)
            if trace.outcome == "error":
                assert result.gap_high == (0 if math.isinf(h) else math.inf)
                continue
            gap = 0 if math.isinf(h) else trace.cost - h if trace.outcome == "goal" else math.inf
            assert result.gap_low == result.gap_high == gap
            check_sum(trace, result.total, h, here.h_star(trace.states[-1]))
            shares = result.shares()
            assert (shares is None) == (gap == 0)
            assert bool(result.faults) == (gap > 0)
            if shares is not None:
                assert math.isclose(sum(shares), 1)
                assert all(share >= 0 for share in shares)
                assert shares[result.faults[0].step] == max(shares)
            if spec == "optimal" and not math.isinf(h):
                assert not result.faults
    return seen


def check_sum(trace: Trace, total: Value | None, start: float, end: float) -> None:
    assert total is not None
    if math.isinf(start):
        assert total == 0
    elif trace.outcome in ("stuck", "inapplicable") or math.isinf(end):
        assert total == math.inf
    else:  # to a goal, or once around a loop
        assert total == trace.cost + end - start


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_regrets_of_a_loop_sum_to_its_cost_or_its_length(
    name: str, costs: tuple[int, ...]
) -> None:
    here = world(name, costs)
    for spec in POLICIES:
        runner = here.runner(spec)
        for state in here.states(80):
            trace = runner.trace(state, max_steps=None)
            if trace.outcome != "loop" or math.isinf(here.h_star(trace.states[-1])):
                continue
            result = exact_regrets(here.task, trace, here.h_star, here.length)
            loop = [d for d in result.decisions if d.recurring]
            assert loop[0].state == trace.states[-1]
            assert sum(d.low for d in loop) == result.loop_cost
            assert sum(d.detour or 0 for d in loop) == len(loop)
            if result.loop_cost == 0:
                assert all((d.detour or 0) >= 0 for d in loop)
                assert any(d.idle for d in loop)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_faults_proven_from_bounds_are_faults(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    hmax = HMax(here.task)
    proven = 0

    def slack(state: State) -> int:
        return state.values[0] % 3

    bounds: list[tuple[Callable[[State], Value], Callable[[State], Value]]] = [
        (lambda s: max(0, here.h_star(s) - slack(s)), lambda s: here.h_star(s) + slack(s)),
        (hmax, lambda s: here.h_star(s) + slack(s)),
        (hmax, lambda s: math.inf if slack(s) == 1 else here.h_star(s)),
        (lambda _: 0, lambda _: math.inf),
    ]
    for spec in POLICIES:
        runner = here.runner(spec)
        for state in here.states(40):
            trace = runner.trace(state, max_steps=30)
            exact = exact_regrets(here.task, trace, here.h_star)
            for lower, upper in bounds:
                result = bounded_regrets(here.task, trace, lower, upper)
                assert result.gap_low <= exact.gap_low
                assert exact.gap_high <= result.gap_high
                for truth, claim in zip(exact.decisions, result.decisions, strict=True):
                    assert truth.exact
                    assert claim.low <= truth.low <= claim.high
                    proven += claim.proven_fault
                assert {d.step for d in result.faults} <= {d.step for d in exact.decisions if d.low}
    assert proven or costs == (0,)


def test_unknown_states_leave_their_decisions_open() -> None:
    here = world("gripper-4", ())
    trace = here.runner("noisy:0.3:5+optimal").trace(here.task.initial_state)
    hidden = trace.states[2]
    result = exact_regrets(here.task, trace, lambda s: None if s == hidden else here.h_star(s))
    open_steps = [d.step for d in result.decisions if not d.exact]
    assert open_steps == [1, 2]
    assert result.total is None
    assert result.shares() is None


def test_the_regrets_of_a_loop_of_cost_zero() -> None:
    # Two switches that toggle for free; the goal is one step away, also for free, but only with the first one off.
    toggles = [f"0\n1\n0 {v} {x} {1 - x}\n0" for v in (0, 1) for x in (0, 1)]
    task = Task(sas([2, 2, 2], [0, 0, 0], [(2, 1)], [*toggles, "1\n0 0\n1\n0 2 -1 1\n0"]).encode())
    states = [task.initial_state]
    operators = [0, 2, 1, 3]  # on, on, off, off
    for op in operators:
        states.append(task.apply(states[-1], op))
    trace = Trace("loop", states, operators, 0)
    away = exact_regrets(task, trace, lambda _: 0, lambda s: 1 + s[0])
    assert away.total == 0
    assert [d.detour for d in away.decisions] == [2, 1, 0, 1]
    assert [d.step for d in away.faults] == [0, 1, 3]
    assert away.shares() == [0.5, 0.25, 0, 0.25]
    blind = exact_regrets(task, trace, lambda _: 0)
    assert blind.shares() is None
    assert blind.faults == []


def test_bounds_that_cross_are_refused() -> None:
    here = world("gripper-4", ())
    trace = here.runner("optimal").trace(here.task.initial_state)
    with pytest.raises(UsageError, match="bounds of state 0"):
        bounded_regrets(here.task, trace, lambda _: 3, lambda _: 2)
