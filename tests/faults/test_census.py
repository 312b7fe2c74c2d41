"""The census of a policy agrees with one run, one exact verdict and one check of each decision at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep.faults.census import policy_census
from misstep.oracles import Kind, Status, Workbench, parse_oracle
from misstep.policies.load import load_policy
from misstep.policies.policy import TIMED_OUT, Answers, Candidates, Policy, States
from misstep.tasks.task import Task
from support.worlds import COSTS, NAMES, POLICIES, World, world


def counted(here: World, spec: str) -> dict[str, int]:
    """What an exact oracle finds in every state, and the decisions that lose something."""
    runner = here.runner(spec)
    oracle = parse_oracle("exact", Workbench(runner, max_steps=None))
    counts = dict.fromkeys(
        [
            "states",
            "solved",
            "bugs",
            "fails",
            "costly",
            "optimal",
            "errors",
            "timeouts",
            "total_gap",
            "faults",
        ],
        0,
    )
    for s in range(len(here.space)):
        state = here.space.state(s)
        if here.task.is_goal(state):
            continue
        verdict = oracle.test(state)
        trace = runner.trace(state, None)
        counts["states"] += 1
        counts["solved"] += trace.outcome == "goal"
        if trace.outcome == "error" and math.isfinite(here.h_star(state)):
            counts["errors"] += 1
        else:
            counts["bugs"] += verdict.is_bug
            counts["fails"] += verdict.kind is Kind.FAILS
            counts["costly"] += verdict.kind is Kind.COSTLY
            counts["optimal"] += verdict.status is Status.OPTIMAL
            if verdict.kind is Kind.COSTLY:
                counts["total_gap"] += int(verdict.gap.low)
        if math.isinf(here.h_star(state)):
            continue
        if trace.operators:
            op, after = trace.operators[0], trace.states[1]
            counts["faults"] += here.task.cost(op) + here.h_star(after) > here.h_star(state)
        else:
            counts["faults"] += trace.outcome in ("stuck", "inapplicable")
    return counts


def check(name: str, costs: tuple[int, ...], spec: str) -> dict[str, int]:
    here = world(name, costs)
    census = policy_census(here.runner(spec).policy, here.space)
    assert census.as_dict() == counted(here, spec)
    assert census.states == census.bugs + census.optimal + census.errors
    return census.as_dict()


@pytest.mark.parametrize("name", ["conditional", "spanner-3", "blocksworld-4"])
def test_equals_the_exact_oracle_on_every_state(name: str) -> None:
    found = [check(name, (0, 1, 5), spec) for spec in POLICIES]
    assert any(census["fails"] for census in found)
    assert found[0]["bugs"] == found[0]["faults"] == 0  # the optimal policy


def test_costly_bugs_and_their_gaps() -> None:
    found = check("visitall-3x3", (1, 2, 50), "noisy:0.3:5+optimal")
    assert found["costly"]
    assert found["total_gap"] >= found["costly"]


class Late(Policy):
    """The optimal policy, which does not answer in time in every third state."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.inner = load_policy("optimal", task)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        operators = self.inner.decide(states, candidates).operators.copy()
        late = np.flatnonzero(states.sum(axis=1) % 3 == 0)
        operators[late] = TIMED_OUT
        return Answers(operators, {int(row): "no answer within 1 s" for row in late})


def test_an_answer_that_came_too_late_is_no_bug() -> None:
    here = world("spanner-3", ())
    census = policy_census(Late(here.task), here.space)
    assert census.timeouts > 0
    assert census.bugs == census.fails == census.faults == 0
    assert census.states == census.optimal + census.timeouts


@pytest.mark.soundness
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_census_of_every_task_equals_the_exact_oracle(
    name: str, costs: tuple[int, ...]
) -> None:
    for spec in POLICIES:
        check(name, costs, spec)
