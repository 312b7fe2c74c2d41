"""Set-valued policies: every verdict on every state of small tasks, compared with the definition.

The policies are made-up rules, and the sketches and rules of the zoo.

If everything is explored, verdicts, kinds and gaps are those of the definitions. If only little is explored, every
verdict is still true. In both cases the independent checker finds the same verdicts from what the policy permits.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

import pytest

from misstep.campaigns.testing import test as run_campaign
from misstep.checking.campaign import check_database
from misstep.oracles import Workbench
from misstep.oracles.verdict import Status, Verdict
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.policies.zoo.index import ZOO
from misstep.runs.make import make_runner
from misstep.tasks.task import State, Task
from support.permitted import (
    Expected,
    Rule,
    SetPolicy,
    Truth,
    as_family,
    by_hash,
    careless,
    crashing,
    everything,
    goal_count,
    improving,
    mostly,
    nothing,
    random_task,
    true_distance,
)
from support.tasks import generated_task, random_costs

RULES: dict[str, Rule] = {
    "all": everything,
    "none": nothing,
    "a third": by_hash(33, 1),
    "most": by_hash(80, 2),
    "improving": improving(true_distance),
    "never worse": improving(true_distance, slack=1),
    "mostly improving": mostly(improving(true_distance), 20, 3),
    "goal count": improving(goal_count),
    "careless": careless(improving(true_distance), 10, 4),
    "crashing": crashing(improving(true_distance), 10, 5),
}


@cache
def task_of(name: str) -> Task:
    if name.startswith("random"):
        return random_task(int(name.split("-")[1]))
    if name == "gripper":
        return generated_task("gripper", balls=2)
    if name == "gripper-costs":
        return random_costs(generated_task("gripper", balls=3), 7, (0, 1, 2, 5))
    if name == "ferry":
        return generated_task("ferry", cars=2, locations=3)
    if name == "ferry-costs":
        return random_costs(generated_task("ferry", cars=2, locations=3), 3, (1, 3, 4))
    if name == "blocksworld":
        return generated_task("blocksworld", blocks=3)
    if name == "blocksworld-costs":
        return random_costs(generated_task("blocksworld", blocks=3), 5, (0, 1, 4))
    if name == "spanner":
        return generated_task("spanner", spanners=2, nuts=1, locations=3)
    assert name == "visitall"
    return generated_task("visitall", width=2, height=3)


TASKS = [
    *("gripper", "gripper-costs", "ferry", "ferry-costs", "blocksworld", "blocksworld-costs"),
    *("spanner", "visitall", "random-1", "random-3", "random-5", "random-27"),
]
QUICK = [("gripper-costs", "improving"), ("blocksworld", "mostly improving"), ("random-1", "most")]
SLOW = [(task, rule) for task in TASKS for rule in RULES if (task, rule) not in QUICK]


def pairs() -> list[object]:
    slow = [pytest.param(*pair, marks=pytest.mark.soundness) for pair in SLOW]
    return [*(pytest.param(*pair) for pair in QUICK), *slow]


# Policies of real families: the domain, the sizes of its tasks, and the spec.
SPANNERS = [{"spanners": 2, "nuts": 1, "locations": 3}, {"spanners": 3, "nuts": 2, "locations": 3}]
SIZES: dict[str, list[dict[str, int]]] = {
    "gripper": [{"balls": 2}, {"balls": 3}],
    "ferry": [{"cars": 2, "locations": 3}, {"cars": 3, "locations": 2}],
    "spanner": SPANNERS,
}
FAMILIES = [
    ("gripper", "sketch:--width=0", "sketch-gripper.txt"),
    ("ferry", "sketch:--width=0", "sketch-ferry.txt"),
    ("gripper", "rules:--choose=all", "gripper.rules"),
    ("ferry", "rules:--choose=all", "ferry.rules"),
    ("spanner", "rules:--choose=all", "spanner.rules"),
]
REAL = [
    pytest.param(
        *(domain, sizes, f"{kind} {ZOO / file}"),
        id=f"{kind[:6].rstrip(':')}-{domain}-{number}",
        marks=[pytest.mark.soundness] if number else [],
    )
    for domain, kind, file in FAMILIES
    for number, sizes in enumerate(SIZES[domain])
]


def bench_of(truth: Truth, policy: Policy, limit: int, costly_some: bool) -> Workbench:
    """A workbench that knows everything about plans: their costs and that none is cheaper."""
    runner = make_runner(policy, permitted_limit=limit, costly_some=costly_some)
    bench = Workbench(runner)
    for values in truth.states:
        bench.bounds.close(State(list(values)))
        bench.bounds.raise_lower_bound(State(list(values)), truth.h_star[values])
    return bench


@pytest.mark.parametrize(("task_name", "rule"), pairs())
@pytest.mark.parametrize("costly_some", [False, True])
def test_verdicts_are_complete_and_true_where_everything_is_explored(
    task_name: str, rule: str, costly_some: bool
) -> None:
    task = task_of(task_name)
    policy = SetPolicy(task, RULES[rule], rule)
    everything_is_told(Truth(task, policy), policy, costly_some)


@pytest.mark.parametrize(("domain", "sizes", "spec"), REAL)
@pytest.mark.parametrize("costly_some", [False, True])
def test_verdicts_on_real_families_are_complete_and_true(
    domain: str, sizes: dict[str, int], spec: str, costly_some: bool
) -> None:
    task = generated_task(domain, **sizes)
    policy = load_policy(spec, task)
    assert policy.set_valued
    everything_is_told(Truth(task, as_family(policy)), policy, costly_some)


def everything_is_told(truth: Truth, policy: Policy, costly_some: bool) -> None:
    bench = bench_of(truth, policy, 100_000, costly_some)
    for values in truth.states:
        if values in truth.goals:
            continue
        verdict = bench.verdict_of(State(list(values)))
        expected = truth.expected(values, costly_some)
        told = Expected(
            verdict.status.value.upper(),
            None if verdict.kind is None else verdict.kind.value,
            verdict.gap.low,
        )
        assert told == expected
        assert verdict.gap.is_exact
        bench.check(verdict)


def is_true(verdict: Verdict, truth: Truth, costly_some: bool) -> bool:
    """Whether everything that a verdict says about a state is true, even if it does not say everything."""
    state = tuple(verdict.state.values)
    expected = truth.expected(state, costly_some)
    h_star, best = truth.h_star[state], truth.best[state]
    if verdict.status is Status.UNKNOWN:
        return True
    if verdict.status is Status.OPTIMAL:
        return expected.verdict == "OPTIMAL"
    assert verdict.kind is not None
    if math.isinf(h_star) or verdict.gap.low <= 0:
        return False
    fails = state not in truth.worst
    if verdict.kind.value == "crash":
        return state in truth.meets_crash
    if verdict.kind.value == "fails-all":
        return expected.kind == "fails-all"
    if verdict.kind.value == "fails-some":
        return fails and state not in truth.crashes_at_most
    if verdict.kind.value == "costly-best":
        return best > h_star and (costly_some or verdict.gap.low <= best - h_star)
    if verdict.kind.value == "costly-some":
        return costly_some and (fails or truth.worst[state] - h_star >= verdict.gap.low)
    return False


@pytest.mark.parametrize(("task_name", "rule"), pairs())
@pytest.mark.parametrize("costly_some", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 12])
def test_verdicts_are_true_where_little_is_explored(
    task_name: str, rule: str, costly_some: bool, limit: int
) -> None:
    task = task_of(task_name)
    policy = SetPolicy(task, RULES[rule], rule)
    nothing_wrong_is_told(Truth(task, policy), policy, limit, costly_some)


@pytest.mark.parametrize(("domain", "sizes", "spec"), REAL)
@pytest.mark.parametrize("costly_some", [False, True])
def test_verdicts_on_real_families_are_true_where_little_is_explored(
    domain: str, sizes: dict[str, int], spec: str, costly_some: bool
) -> None:
    task = generated_task(domain, **sizes)
    policy = load_policy(spec, task)
    truth = Truth(task, as_family(policy))
    for limit in (1, 4, 12):
        nothing_wrong_is_told(truth, policy, limit, costly_some)


def nothing_wrong_is_told(truth: Truth, policy: Policy, limit: int, costly_some: bool) -> None:
    bench = bench_of(truth, policy, limit, costly_some)
    for values in truth.states:
        if values not in truth.goals:
            verdict = bench.verdict_of(State(list(values)))
            assert is_true(verdict, truth, costly_some)
            bench.check(verdict)


@pytest.mark.soundness
@pytest.mark.parametrize("costly_some", [False, True])
@pytest.mark.parametrize("task_name", TASKS)
def test_certificates_of_campaigns_are_valid(task_name: str, costly_some: bool) -> None:
    task = task_of(task_name)
    kinds: Counter[str | None] = Counter()
    for name, rule in RULES.items():
        for limit in (3, 5000):
            policy = SetPolicy(task, rule, name)
            truth = Truth(task, policy)
            options: dict[str, Any] = {
                "costly_some": costly_some,
                "permitted_limit": limit,
                "pool": 25,
            }
            with run_campaign(task, policy, oracle="exact", fuzz="none", **options) as found:
                report = check_database(found._content.store.connection)
                assert report.valid, str(report)
                for record in found.records:
                    expected = truth.expected(tuple(map(int, record.state)), costly_some)
                    if limit == 5000 and tuple(record.state) not in truth.goals:
                        assert (record.verdict, record.kind) == (expected.verdict, expected.kind)
                    kinds[record.kind] += 1
    assert kinds["fails-all"]
    assert kinds["fails-some"]


@pytest.mark.soundness
@pytest.mark.parametrize(("domain", "sizes", "spec"), REAL)
@pytest.mark.parametrize("costly_some", [False, True])
def test_certificates_of_campaigns_on_real_families_are_valid(
    domain: str, sizes: dict[str, int], spec: str, costly_some: bool
) -> None:
    task = generated_task(domain, **sizes)
    truth = Truth(task, as_family(load_policy(spec, task)))
    with run_campaign(task, spec, pool=25, fuzz="none", costly_some=costly_some) as found:
        report = check_database(found._content.store.connection)
        assert report.valid, str(report)
        assert found.records
        for record in found.records:
            expected = truth.expected(tuple(map(int, record.state)), costly_some)
            assert (record.verdict, record.kind) == (expected.verdict, expected.kind)
