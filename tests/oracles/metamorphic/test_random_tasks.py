"""SMO, BMO and the combined oracle with computed functions on random tasks: every verdict and bound against exact h*.

All assignments are tested, also unreachable ones and dead ends, with policies that err, loop and stop, and with runs
that are cut. Bounds are compared for all states of the store.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from misstep.oracles import Workbench, parse_oracle
from misstep.oracles.dominance import try_dominance
from misstep.oracles.verdict import Kind
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.dominance import Truth, random_task

SPECS = (
    "smo(4)",
    "bmo(0)",
    "bmo(3)",
    "smo(3, sample=true) | bmo(10)",
    "bmo(2)+aras(50)/ehc",
    "bmo(1)+astar",
)
POLICIES = ("random:{}", "noisy:0.3:{}+heuristic:ff", "first", "noisy:0.5:{}+heuristic:max")


def check(task: Task, seed: int) -> Counter[str]:
    truth = Truth.of(task)
    states = [State(row) for row in truth.states.tolist()]
    h_star = dict(zip(states, truth.h_star.tolist(), strict=True))
    found: Counter[str] = Counter()
    dominance = try_dominance(task)
    if isinstance(dominance, str):
        return found
    policy = POLICIES[seed % len(POLICIES)].format(seed)
    spec = SPECS[seed % len(SPECS)]
    max_steps = (1000, 2, 1000)[seed % 3]
    runner = PolicyRunner(load_policy(policy, task))
    bench = Workbench(runner, max_steps=max_steps, dominance=dominance)
    oracle = parse_oracle(spec, bench)
    for state in states[:: max(1, len(states) // 12)]:
        verdict = oracle.test(state)
        assert verdict.problems == ()
        bench.check(verdict)  # the independent checker recomputes derivations
        best = h_star[state]
        assert verdict.lower_bound <= best <= verdict.upper_bound
        trace = runner.trace(state, None)
        cost = trace.cost if trace.outcome == "goal" else math.inf
        gap = 0 if math.isinf(best) else cost - best
        assert gap in verdict.gap
        assert not verdict.is_bug or gap > 0
        assert verdict.kind is not Kind.FAILS or math.isinf(cost)
        found["bugs"] += verdict.is_bug
        found["derived"] += verdict.derivation is not None
    if bench.pool is not None:
        bench.pool.settle()
    lower, upper = bench.bounds.graph.all_bounds()
    exact = np.array([h_star[State(row)] for row in bench.bounds.graph.states().tolist()])
    assert (lower <= exact).all()
    assert (exact <= upper).all()
    return found


def campaign(seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        found += check(random_task(seed), seed)
    return found


@pytest.mark.parametrize("part", range(5))
def test_random_tasks(part: int) -> None:
    found = campaign(range(100 * part, 100 * part + 100))
    assert found["bugs"] > 20
    assert found["derived"]


@pytest.mark.soundness
@pytest.mark.parametrize("part", range(20))
def test_many_random_tasks(part: int) -> None:
    assert campaign(range(1000 + 1000 * part, 2000 + 1000 * part))["derived"]
