"""Every oracle on small tasks, compared with exact h*: true verdicts, the true gap in every interval, valid witnesses.

The ordinary tests take a sample of the states and one policy for each task. `make soundness` takes hundreds of
states, which are all states of the smaller tasks, all policies and all costs.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from misstep._core import StateSpace
from misstep.oracles import DEFAULT_ORACLE, Kind, Objective, Status, Verdict, parse_oracle
from misstep.oracles.oracle import Tester
from misstep.tasks.task import State
from support.oracles import (
    POLICIES,
    sample,
    true_cost,
    true_gap,
    variant,
    verdicts_along,
    workbench,
)
from support.tasks import SMALL

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (2, 3, 50)]
TASKS = [*SMALL, "conditional"]
SPECS = [
    "lmcut",
    "elimination",
    "lookahead(1)",
    "lookahead(2, first=true)",
    "aras",
    "aras(200, growth=10, best=true)",
    "astar(evaluations=50)",
    "astar(evaluations=1000000, heuristic=blind)",
    "ehc",
    "ehc(helpful=false, by_cost=true)",
    "gbfs(30)",
    "exact",
    "exact(20)",
    "aras(500)/ehc",
    "elimination | lookahead(1) | gbfs(50)",
    "smo(5)",
    "smo(5, sample=false)",
    "bmo(0)",
    "bmo(20)+aras/ehc",
    "gbfs(50), bmo(20, best=true)+aras(500, best=true)/ehc",
    "p22",
    "p23",
    "(lmcut, elimination) | astar(expansions=5), aras/(ehc, gbfs(10))",
    DEFAULT_ORACLE,
]


def check_verdict(oracle: Tester, verdict: Verdict, space: StateSpace) -> None:
    """Compare everything that a verdict says with the truth."""
    bench = oracle.bench
    best = float(space.h_star[space.find(verdict.state)])
    assert verdict.lower_bound <= best <= verdict.upper_bound
    if bench.task.has_conditional_effects:
        assert all("not applicable: a dominance" in problem for problem in verdict.problems)
    else:
        assert verdict.problems == ()
    bench.check(verdict)  # the run, the witness and its cost, by the independent checker
    assert verdict.upper_bound == min(
        bench.bounds.bounds(verdict.state).upper, verdict.witness_cost
    )
    assert (verdict.derivation is None) == (verdict.upper_bound == verdict.witness_cost)

    cost = true_cost(bench, verdict.state)
    known = verdict.policy_cost
    assert cost == known.lower_bound if known.is_exact else cost >= known.lower_bound
    gap = true_gap(cost, best)
    if bench.objective is Objective.GOAL:
        gap = int(math.isinf(gap))
    assert gap in verdict.gap
    if verdict.is_bug:
        assert gap > 0
    if verdict.status is Status.OPTIMAL:
        assert gap == 0
    if known.is_exact:
        assert verdict.kind is not Kind.UNCLASSIFIED
    elif verdict.is_bug:
        assert verdict.kind is Kind.UNCLASSIFIED


def check_oracle(
    name: str,
    costs: tuple[int, ...],
    policy: str,
    spec: str,
    count: int,
    *,
    max_steps: int | None = 1000,
    objective: Objective = Objective.COST,
) -> Counter[str]:
    task, space = variant(name, costs)
    bench = workbench(task, policy, max_steps=max_steps, objective=objective)
    oracle = parse_oracle(spec, bench)
    found: Counter[str] = Counter()
    for state in sample(space, count):
        verdict = oracle.test(state)
        check_verdict(oracle, verdict, space)
        found[verdict.status.value] += 1
        found["states"] += 1
    # All bounds of all states in the store are true as well.
    bench.bounds.check()
    lower, upper = bench.bounds.graph.all_bounds()
    ids = np.array([space.find(State(row.tolist())) for row in bench.bounds.graph.states()])
    inside = ids >= 0  # morphs may be unreachable
    truth = space.h_star[ids[inside]]
    assert (lower[inside] <= truth).all()
    assert (truth <= upper[inside]).all()
    if spec == "exact" and max_steps == 1000 and policy != "misbehaving":
        assert found["unknown"] == 0  # nothing is left open: the census of bugs
    return found


def check_known_states(name: str, costs: tuple[int, ...], policy: str, count: int) -> None:
    """Verdicts on states that were not tested, from the bounds that other tests have left in the store."""
    task, space = variant(name, costs)
    bench = workbench(task, policy)
    oracle = parse_oracle(DEFAULT_ORACLE, bench)
    for state in sample(space, count):
        oracle.test(state)
        for verdict in verdicts_along(bench, state):
            check_verdict(oracle, verdict, space)
    for row in bench.bounds.graph.states()[::7]:
        if space.find(State(row.tolist())) >= 0:
            check_verdict(oracle, bench.verdict_of(State(row.tolist())), space)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("number", range(len(TASKS)))
def test_verdicts_on_a_sample_of_states_are_true(number: int, spec: str) -> None:
    place = number + SPECS.index(spec)
    policy, costs = POLICIES[place % len(POLICIES)], COSTS[place % len(COSTS)]
    assert check_oracle(TASKS[number], costs, policy, spec, 12)["states"]


@pytest.mark.parametrize("max_steps", [0, 1, 3])
@pytest.mark.parametrize("spec", ["exact", "astar", DEFAULT_ORACLE])
def test_verdicts_on_cut_runs_are_true(spec: str, max_steps: int) -> None:
    found: Counter[str] = Counter()
    for name, costs, policy in [
        ("transport-2", (1, 2, 5), "noisy:0.3:5+heuristic:ff"),
        ("gripper-4", (), "first"),
        ("spanner-3", (0, 1, 5), "random:7"),
        ("conditional", (), "misbehaving"),
    ]:
        found += check_oracle(name, costs, policy, spec, 25, max_steps=max_steps)
    assert found["unknown"]  # cut runs stay open, unless they have spent too much already


@pytest.mark.parametrize("name", ["spanner-3", "blocksworld-4", "conditional"])
def test_verdicts_on_reaching_the_goal_are_true(name: str) -> None:
    for policy in POLICIES:
        for spec in ("exact", "lookahead(1)", DEFAULT_ORACLE):
            check_oracle(name, (0, 1, 5), policy, spec, 15, objective=Objective.GOAL)
            check_oracle(name, (), policy, spec, 15, objective=Objective.GOAL, max_steps=3)


@pytest.mark.parametrize("name", ["spanner-3", "transport-2", "childsnack-2"])
def test_verdicts_on_states_that_were_not_tested_are_true(name: str) -> None:
    for policy in POLICIES:
        check_known_states(name, (0, 1, 5), policy, 4)


@pytest.mark.soundness
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", TASKS)
def test_verdicts_on_every_state_are_true(name: str, costs: tuple[int, ...], policy: str) -> None:
    for spec in SPECS:
        check_oracle(name, costs, policy, spec, 400)
        check_oracle(name, costs, policy, spec, 60, max_steps=4)
    check_oracle(name, costs, policy, DEFAULT_ORACLE, 300, objective=Objective.GOAL)
    check_known_states(name, costs, policy, 30)
