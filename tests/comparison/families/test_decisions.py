"""Which decisions are proven to be good, and which are not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from misstep.campaigns.records import Decision, Fault, Run
from misstep.campaigns.testing import test as run_test
from misstep.comparison.families.decisions import Made, faulty_decisions, good_decisions
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task
from support.campaigns import MODELS, ModelTruth, small_model
from support.planted import PlanningTruth
from support.records import record

TASK = load_task(generate("gripper", balls=2))


def plan_of(task: Task) -> tuple[int, ...]:
    truth = PlanningTruth(task)
    state, plan = task.initial_state, []
    while not task.is_goal(state):
        operator = int(truth.space.best_operator[truth.space.find(state)])
        plan.append(operator)
        state = task.apply(state, operator)
    return tuple(plan)


PLAN = plan_of(TASK)


def optimal(**given: Any) -> Any:
    names = tuple(map(TASK.operator_name, PLAN))
    run = Run("goal", PLAN, names, len(PLAN), None, None)
    values: dict[str, Any] = {
        "task": TASK.name,
        "state": TASK.initial_state.values,
        "run": run,
        "verdict": "OPTIMAL",
        "bounds": (len(PLAN), len(PLAN)),
    }
    return record(**(values | given))


def fault(step: int, loss: Any = (1, 1), share: float | None = 1.0) -> Fault:
    own = Decision(PLAN[step], TASK.operator_name(PLAN[step]))
    return Fault(step, (step,), (), own, None, loss, share, False, None)


def steps(*records: Any) -> int:
    return len(good_decisions(TASK, records, None))


def test_the_run_of_an_optimal_record() -> None:
    assert steps(optimal()) == len(PLAN)
    assert steps(optimal(), optimal(number=1)) == len(PLAN)  # each decision once


def test_what_proves_nothing() -> None:
    assert steps(optimal(bounds=None)) == 0
    assert steps(optimal(bounds=(None, None))) == 0  # no plan exists
    assert steps(optimal(bounds=(len(PLAN) - 1, len(PLAN)))) == 0
    assert steps(optimal(verdict="UNKNOWN")) == 0
    assert steps(optimal(verdict="FLAKY")) == 0
    assert steps(optimal(verdict="BUG", faults=None)) == 0
    assert steps(optimal(verdict="BUG", faults=())) == 0
    assert steps(optimal(verdict="BUG", faults=(fault(1, share=None),))) == 0
    assert steps(optimal(task="another")) == 0


def test_the_run_of_a_bug_whose_losses_are_all_known() -> None:
    assert steps(optimal(verdict="BUG", faults=(fault(1),))) == len(PLAN) - 1
    # Behind an infinite loss there is nothing to lose.
    assert steps(optimal(verdict="BUG", faults=(fault(2, (None, None)),))) == 2


def test_a_fault_counts_once_and_knows_its_bugs() -> None:
    bugs = [optimal(number=n, verdict="BUG", faults=(fault(1), fault(1))) for n in range(3)]
    (found,) = faulty_decisions([*bugs, optimal(number=4)])
    assert [bug.number for bug in found.bugs] == [0, 1, 2]
    assert found.made == Made(TASK.name, (1,), PLAN[1])


def test_a_run_that_does_not_fit_its_task_proves_nothing() -> None:
    run = Run("goal", (10**6,), ("x",), 1, None, None)
    assert steps(optimal(run=run, bounds=(1, 1))) == 0


@pytest.mark.soundness
@pytest.mark.parametrize("policy", ["heuristic:ff", "noisy:0.4:1+heuristic:ff", "zoo:ferry-rules"])
@pytest.mark.parametrize("name", ["ferry", "gripper", "blocksworld", "visitall", "spanner"])
def test_good_decisions_lose_nothing_and_faulty_ones_do(name: str, policy: str) -> None:
    if policy.startswith("zoo") and name != "ferry":
        pytest.skip("a policy of another domain")
    task = load_task(generate(name, seed=2))
    truth = PlanningTruth(task)
    campaign = run_test(task, policy, pool=40, seed=3)
    good = good_decisions(campaign.tasks[0], campaign.records, None)
    for made in good:
        state = State(list(map(int, made.state)))
        assert made.operator is not None
        assert math.isfinite(truth.distance(state))
        assert not truth.loses(state, task.operator_name(made.operator))
    for own in faulty_decisions(campaign.records):
        if own.fault.loss != (0, 0):
            state = State(list(map(int, own.made.state)))
            chosen = own.made.operator
            assert truth.loses(state, None if chosen is None else task.operator_name(chosen))


@pytest.mark.soundness
@pytest.mark.parametrize("name", sorted(MODELS))
def test_good_decisions_on_models_stay_safe(name: str) -> None:
    task = small_model(name)
    truth = ModelTruth(task, "first")
    campaign = run_test(task, "first", runs=60)
    for made in good_decisions(task, campaign.records, "inf"):
        assert made.operator is not None
        assert truth.safe(made.state, math.inf)
        assert all(
            truth.safe(state, math.inf) for state in task.outcomes(made.state, made.operator)
        )
