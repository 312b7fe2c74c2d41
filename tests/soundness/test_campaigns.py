"""Whole campaigns on enumerated tasks and models: every record is true.

A campaign is what a user runs: the pool with its walks, the runs, the oracles in their order, rounds that share what
they know, further oracles, growth, several processes, the check of witnesses, the store. The ordinary tests
take one combination for each task; `make soundness` takes many more.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from misstep._core import StateSpace
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Fault, Record
from misstep.campaigns.testing import test as run_campaign
from misstep.oracles import DEFAULT_ORACLE
from misstep.safety.decider import KINDS as DECIDERS
from misstep.tasks.task import State, Task
from support.campaigns import MODELS, ModelTruth, small_model
from support.dominance import random_task
from support.oracles import variant
from support.tasks import SMALL

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (2, 3, 50)]
POLICIES = ["heuristic:ff", "noisy:0.3:5+heuristic:ff", "first", "random:7", "optimal"]
FUZZERS: list[dict[str, Any]] = [
    {"preset": "p22"},
    {"preset": "p22", "novelty": 1},
    {"preset": "p23"},
    {"preset": "p24", "fuzz": "none", "dead_ends": "none"},
    {"preset": "p24", "fuzz": "policy-cost"},
    {"preset": "p24", "fuzz": "loop", "dead_ends": "search"},
    {"preset": "p24", "fuzz": "loop", "estimate": "h*", "dead_ends": "exact"},
    {"preset": "p24", "fuzz": "detour"},
    {"preset": "p24", "fuzz": "detour", "estimate": "h*", "dead_ends": "none"},
    {"preset": "p24", "fuzz": "surface"},
    {"preset": "p24", "fuzz": "surface", "estimate": "h*", "dead_ends": "search"},
]
ORACLES = [
    "elimination, undo, lookahead(2), aras/ehc",
    "undo | lookahead(1)",
    "astar",
    "gbfs(100) | elimination",
    "smo(5)",
    "bmo(10)",
    "exact",
    "bmo(10)+aras/ehc",
    DEFAULT_ORACLE,
]
ROUNDS: list[tuple[int, int]] = [
    (3, 2),
    (10, 4),
    (1, 1),
    (5, 1),
]  # states of a chunk, chunks of a round


class Truth:
    """What the whole state space of a task says about the records of a campaign on it."""

    def __init__(self, task: Task, space: StateSpace) -> None:
        self.task = task
        self.space = space

    def h(self, state: State) -> float:
        return float(self.space.h_star[self.space.find(state)])

    def after(self, state: State, operator: int) -> float:
        """The cost of the cheapest plan that begins with the operator."""
        return self.task.cost(operator) + self.h(self.task.apply(state, operator))

    def check(self, campaign: Campaign) -> Counter[str]:
        replayed = campaign.replay(rerun=True)
        assert replayed.ok, str(replayed)
        found: Counter[str] = Counter()
        for record in campaign.records:
            self._check_record(record)
            found[record.verdict] += 1
        return found

    def _check_record(self, record: Record) -> None:
        state = State(list(map(int, record.state)))
        assert record.found.walk is not None
        walked = self.task.initial_state
        for operator in record.found.walk.operators:
            walked = self.task.apply(walked, operator)
        assert walked == state
        best, run = self.h(state), record.run
        assert run.cost is not None
        # A cut run may still reach the goal; only its cost so far is known.
        cut = run.outcome == "cut"
        cost = run.cost if run.outcome == "goal" or cut else math.inf
        gap = 0 if math.isinf(best) else cost - best
        for own in record.verdicts:
            assert own.gap is not None
            assert own.bounds is not None
            low, high = map(infinite, own.gap)
            assert low <= max(0, gap)
            assert cut or gap <= high
            assert own.verdict != "BUG" or gap > 0
            assert own.verdict != "OPTIMAL" or (gap == 0 and (not cut or math.isinf(best)))
            lower, upper = map(infinite, own.bounds)
            assert lower <= best <= upper
        passed = [state]
        for operator in run.operators:
            passed.append(self.task.apply(passed[-1], operator))
        for fault in record.faults or ():
            self._check_fault(fault, passed, record)
        if record.is_bug and record.faults is not None and run.outcome in ("loop", "stuck", "goal"):
            assert record.faults  # small enough for all of the truth

    def _check_fault(self, fault: Fault, passed: list[State], record: Record) -> None:
        state = State(list(map(int, fault.state)))
        assert passed[fault.step] == state
        here = self.h(state)
        assert math.isfinite(here)
        if fault.decision is None:
            assert fault.step == len(record.run.operators)
            did = math.inf
        else:
            assert record.run.operators[fault.step] == fault.decision.operator
            did = self.after(state, fault.decision.operator)
        low, high = map(infinite, fault.loss)
        assert low <= did - here <= high
        if high == 0:  # a loop of cost zero loses nothing but steps
            assert fault.recurring
            assert record.run.outcome == "loop"
            return
        assert did > here
        if fault.better is not None:
            assert self.after(state, fault.better.operator) < did


def infinite(bound: int | None) -> float:
    return math.inf if bound is None else bound


def check(
    truth: Truth,
    policy: str,
    fuzzer: dict[str, Any],
    oracle: str,
    place: int,
    **how: Any,
) -> Counter[str]:
    """A campaign, which may grow and be judged again: `place` says how."""
    chunk, rounds = ROUNDS[place % len(ROUNDS)]
    grows, judged = place % 3 == 0, place % 4 == 1
    settings: dict[str, Any] = {
        **fuzzer,
        "oracle": oracle,
        "seed": 3,
        "patience": 300,
        "chunk": chunk,
        "round": rounds,
        **({"isolate": True} if place % 7 == 6 else {}),
        **({"max_steps": 6} if place % 5 == 4 else {}),
    }
    with run_campaign(truth.task, policy, pool=11 if grows else 25, **settings, **how) as campaign:
        if grows:
            truth.check(campaign)
            campaign.resume(pool=25)
        if judged:
            truth.check(campaign)
            campaign.judge(ORACLES[(place + 2) % len(ORACLES)])
        return truth.check(campaign)


@cache
def truth_of(name: str, costs: tuple[int, ...]) -> Truth:
    return Truth(*variant(name, costs))


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_records_of_sample_campaigns_are_true(number: int) -> None:
    name = list(SMALL)[number]
    for k, policy in enumerate(POLICIES):
        place = number + k
        truth = truth_of(name, COSTS[place % len(COSTS)])
        fuzzer, oracle = FUZZERS[place % len(FUZZERS)], ORACLES[place % len(ORACLES)]
        assert check(truth, policy, fuzzer, oracle, place).total()


@pytest.mark.soundness
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_records_of_every_fuzzer_and_oracle_are_true(
    name: str, costs: tuple[int, ...], policy: str
) -> None:
    truth = truth_of(name, costs)
    for place, (fuzzer, oracle) in enumerate(product(FUZZERS, ORACLES)):
        check(truth, policy, fuzzer, oracle, place)


@pytest.mark.soundness
@pytest.mark.parametrize("seed", range(150))
def test_records_on_random_tasks_are_true(seed: int) -> None:
    task = random_task(seed)
    truth = Truth(task, StateSpace(task, [task.initial_state]))
    for k, policy in enumerate(("noisy:0.3:5+heuristic:ff", "first", "random:7")):
        place = seed + k
        oracle = ORACLES[place % len(ORACLES)]
        check(truth, policy, {"preset": "p24", "fuzz": "none"}, oracle, place)


@pytest.mark.soundness
@pytest.mark.parametrize("place", range(12))
def test_records_of_several_processes_are_true(place: int, tmp_path: Path) -> None:
    name = list(SMALL)[place % len(SMALL)]
    truth = truth_of(name, COSTS[place % len(COSTS)])
    policy = POLICIES[place % len(POLICIES)]
    oracle = ORACLES[place % len(ORACLES)]
    check(truth, policy, FUZZERS[place % len(FUZZERS)], oracle, place, jobs=2, out=tmp_path / "c")


# -- models ---------------------------------------------------------------------------------------


@cache
def model_truth(name: str, policy: str) -> ModelTruth:
    return ModelTruth(small_model(name), policy)


def check_model(name: str, policy: str, place: int, **how: Any) -> int:
    truth = model_truth(name, policy)
    radius = (math.inf, 0, 1, 2, 3)[place % 5]
    oracle = DECIDERS[place % len(DECIDERS)]
    batch = (1, 4, 50)[place % 3]
    evaluations = 5 if place % 4 == 3 else 1_000_000
    grows = place % 2 == 0
    with run_campaign(
        *(small_model(name), policy),
        radius=radius,
        runs=30 if grows else 80,
        oracle=oracle,
        batch=batch,
        evaluations=evaluations,
        seed=place,
        **how,
    ) as campaign:
        if grows:
            truth.check(campaign)
            campaign.resume(runs=80)
        if place % 3 == 1:
            campaign.judge(DECIDERS[(place + 1) % len(DECIDERS)])
        truth.check(campaign)
        replayed = campaign.replay(rerun=True)
        assert replayed.ok, str(replayed)
        return len(campaign)


@pytest.mark.parametrize("name", MODELS)
def test_records_of_sample_campaigns_on_models_are_true(name: str) -> None:
    for place, policy in enumerate(("first", "random:3", "random:8")):
        assert check_model(name, policy, place + list(MODELS).index(name))


@pytest.mark.soundness
@pytest.mark.parametrize("policy", ["first", "random:3", "random:8"])
@pytest.mark.parametrize("name", MODELS)
def test_records_of_many_campaigns_on_models_are_true(
    name: str, policy: str, tmp_path: Path
) -> None:
    for place in range(60):
        check_model(name, policy, place)
    for place in range(3):
        check_model(name, policy, place, jobs=2, out=tmp_path / str(place))
