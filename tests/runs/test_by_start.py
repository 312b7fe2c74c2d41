"""Runs that belong to their start: plans that are followed, and runs that avoid the states they have seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.oracles import Workbench
from misstep.policies.load import load_policy
from misstep.runs.by_start import StartRunner
from misstep.runs.make import make_runner
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.single import run_once
from misstep.tasks.task import State, Task
from support.permitted import PlanPolicy
from support.tasks import rows, sas, small_task, walk

# Cells 0 to 4, the goal at 4: operators 0 to 3 go on, 4 goes back from 1.
LINE = sas(
    [5],
    [0],
    [(0, 4)],
    [*(f"0\n1\n0 0 {x} {x + 1}\n1" for x in range(4)), "0\n1\n0 0 1 0\n1"],
)


def raises(error: type[BaseException]) -> Callable[[Task, State], list[int]]:
    def plan(_: Task, __: State) -> list[int]:
        raise error("trouble")

    return plan


CASES: list[tuple[Callable[[Task, State], Any], str, list[int]]] = [
    (lambda *_: [0, 1, 2, 3], "goal", [0, 1, 2, 3]),
    (lambda *_: [0, 1, 2, 3, 0, 0], "goal", [0, 1, 2, 3]),  # the goal on the way is enough
    (lambda *_: [0, 4, 0, 1, 2, 3], "goal", [0, 4, 0, 1, 2, 3]),  # coming back is no loop
    (lambda *_: [0, 1], "stuck", [0, 1]),
    (lambda *_: [], "stuck", []),
    (lambda *_: [0, 2], "inapplicable", [0]),
    (lambda *_: [0, 99], "error", []),
    (lambda *_: [0, "1"], "error", []),
    (lambda *_: None, "error", []),
    (raises(RuntimeError), "error", []),
    (raises(SystemExit), "error", []),
    (raises(TimeoutError), "timeout", []),
]


@pytest.mark.parametrize(("plan", "outcome", "operators"), CASES)
def test_plans_are_followed(
    plan: Callable[[Task, State], Any], outcome: str, operators: list[int]
) -> None:
    task = Task(LINE.encode(), name="line")
    runner = make_runner(PlanPolicy(task, plan))
    trace = runner.trace(task.initial_state)
    assert (trace.outcome, trace.operators) == (outcome, operators)
    assert runner.named(trace) == (2 if outcome == "inapplicable" else None)
    bench = Workbench(runner)
    verdict = bench.verdict_of(task.initial_state)
    bench.check(verdict)
    assert verdict.policy_cost.fails is (None if outcome == "timeout" else outcome != "goal")


def test_a_goal_needs_no_plan() -> None:
    task = Task(LINE.encode(), name="line")
    policy = PlanPolicy(task, raises(RuntimeError))
    assert make_runner(policy).trace(State([4])).outcome == "goal"
    assert policy.calls == 0


def test_the_policy_is_asked_once() -> None:
    task = Task(LINE.encode(), name="line")
    policy = PlanPolicy(task, lambda *_: [0, 1, 2, 3])
    runner = make_runner(policy)
    for limit in (None, 3, 4, 5, None):
        runner.trace(task.initial_state, limit)
    assert policy.calls == runner.policy_calls == 1


@pytest.mark.parametrize(
    ("limit", "outcome", "steps"), [(3, "cut", 3), (4, "goal", 4), (0, "cut", 0), (9, "goal", 4)]
)
def test_limits(limit: int, outcome: str, steps: int) -> None:
    task = Task(LINE.encode(), name="line")
    for before in (None, limit, 1):
        runner = make_runner(PlanPolicy(task, lambda *_: [0, 1, 2, 3]))
        runner.trace(task.initial_state, before)
        trace = runner.trace(task.initial_state, limit)
        assert (trace.outcome, len(trace.operators), trace.cost) == (outcome, steps, steps)


def test_suffixes_of_a_plan_bound_the_states_on_it() -> None:
    task = Task(LINE.encode(), name="line")
    bench = Workbench(make_runner(PlanPolicy(task, lambda *_: [0, 1, 2, 3])))
    bench.run(rows([task.initial_state]))
    assert [bench.bounds.bounds(State([x])).upper for x in range(5)] == [4, 3, 2, 1, 0]
    # But what the policy does from there is another question.
    assert bench.policy_cost(State([1])).fails


def test_avoiding_is_what_single_runs_do() -> None:
    task = small_task("gripper-4")
    policy = load_policy("noisy:0.3:5+heuristic:ff", task)
    runner = make_runner(policy, revisit="avoid")
    assert isinstance(runner, StartRunner)
    states = walk(task, 40, 3)
    ends = runner.run(rows(states), 60)
    for state, outcome, steps in zip(states, ends.outcomes, ends.steps, strict=True):
        expected = run_once(policy, state, revisit="avoid", max_steps=60)
        assert (OUTCOMES[outcome], steps) == (expected.outcome, len(expected.operators))
        for limit in (0, 3, 59):
            again = run_once(policy, state, revisit="avoid", max_steps=limit)
            cut = runner.trace(state, limit)
            assert (cut.outcome, cut.operators) == (again.outcome, again.operators)


def test_who_cannot_avoid() -> None:
    task = Task(LINE.encode(), name="line")
    with pytest.raises(UsageError, match="cannot choose among a subset of operators"):
        make_runner(PlanPolicy(task, lambda *_: []), revisit="avoid")
    with pytest.raises(UsageError, match="no revisit mode"):
        make_runner(load_policy("first", task), revisit="never")


def test_single_decisions_are_refused() -> None:
    task = Task(LINE.encode(), name="line")
    runner = make_runner(PlanPolicy(task, lambda *_: []))
    ids = runner.graph.add(rows([task.initial_state]))
    with pytest.raises(UnsupportedError, match="depend on their start"):
        runner.ask(ids)
