"""What a retest says about a state is true: no bug is wrongly called fixed, still there or new.

Old and new policies are random or noisy, so that runs get better and worse in all ways. The truth comes from the whole
state space and uses no witnesses. The ordinary tests take a few pairs of policies.
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
from misstep.campaigns.records import Record
from misstep.campaigns.rows import Values
from misstep.campaigns.testing import test as run_campaign
from misstep.comparison.changes import Change
from misstep.comparison.retest import Retest
from misstep.oracles import DEFAULT_ORACLE
from misstep.tasks.task import State
from soundness.test_campaigns import COSTS, POLICIES, Truth, truth_of
from support.campaigns import MODELS, ModelTruth, small_model
from support.dominance import random_task
from support.tasks import SMALL

ORACLES = [DEFAULT_ORACLE, "elimination, undo, lookahead(2)", "bmo(10)", "undo | lookahead(1)"]
VERSIONS = [*POLICIES, "random:1", "noisy:0.6:2+heuristic:ff"]


def cost_of(record: Record) -> float | None:
    """None: the run was cut."""
    if record.run.outcome == "goal":
        assert record.run.cost is not None
        return record.run.cost
    return None if record.run.outcome == "cut" else math.inf


def check_change(truth: Truth, change: Change) -> None:
    before, after, word = change.before, change.after, change.word
    best = truth.h(State(list(map(int, after.state))))
    old, new = cost_of(before), cost_of(after)
    assert before.state == after.state
    assert change.is_bug <= after.is_bug or change.was_bug
    if word == "fixed":
        assert before.is_bug
        assert not after.is_bug
        assert new is not None
        assert before.bounds is not None
        enough = before.bounds[1]
        assert after.verdict == "OPTIMAL" or (enough is not None and new <= enough)
        assert after.verdict != "OPTIMAL" or new == best
        assert old is None or new < old
    elif change.is_bug:
        spent = after.run.cost if new is None else new
        assert spent is not None
        assert spent > best
        if word == "better":
            assert new is not None
            assert new < (before.run.cost or 0 if old is None else old)
        elif word == "still":
            assert old is None or new is None or old == new
        elif word == "worse":
            assert old is not None
            assert spent > old
        else:
            assert word in ("new", "uncovered")
            assert not before.is_bug
            assert before.verdict != "OPTIMAL" or old == best or math.isinf(best)
            at_least = before.run.cost if old is None else old
            assert at_least is not None
            assert word == "new" or at_least > best
    elif word == "clean":
        assert new == best or math.isinf(best)
    else:
        assert word == "undecided"
        assert after.verdict == "UNKNOWN"


def check(truth: Truth, old: str, new: str, oracle: str, place: int, **how: Any) -> Counter[str]:
    settings: dict[str, Any] = {"oracle": oracle, "patience": 300, "chunk": 3, "round": 2}
    settings |= {"isolate": True} if place % 5 == 4 else {}
    settings |= {"max_steps": 6} if place % 4 == 3 else {}
    with run_campaign(truth.task, old, pool=20, seed=place, **settings) as campaign:
        found = campaign.retest(new, judge_fixed=place % 3 == 2, **how)
        with found.campaign as own:
            truth.check(own)
            assert len(found.changes) == len(campaign.records)
            for change in found.changes:
                check_change(truth, change)
            assert Counter(c.word for c in found.changes) == +Counter(found.counts)
            return Counter(found.counts)


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_retests_of_a_few_policies_are_true(number: int) -> None:
    name = list(SMALL)[number]
    for k in range(3):
        place = number + k
        truth = truth_of(name, COSTS[place % len(COSTS)])
        old, new = VERSIONS[place % len(VERSIONS)], VERSIONS[(place * 3 + 1) % len(VERSIONS)]
        assert check(truth, old, new, ORACLES[place % len(ORACLES)], place).total()


@pytest.mark.soundness
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_retests_of_every_pair_of_policies_are_true(name: str, costs: tuple[int, ...]) -> None:
    found: Counter[str] = Counter()
    for place, (old, new) in enumerate(product(VERSIONS, VERSIONS)):
        found += check(truth_of(name, costs), old, new, ORACLES[place % len(ORACLES)], place)
    assert {"fixed", "still", "new", "clean"} <= (+found).keys()


@pytest.mark.soundness
@pytest.mark.parametrize("seed", range(100))
def test_retests_on_random_tasks_are_true(seed: int) -> None:
    task = random_task(seed)
    truth = Truth(task, StateSpace(task, [task.initial_state]))
    for k in range(3):
        place = seed + k
        old, new = VERSIONS[place % len(VERSIONS)], VERSIONS[(place * 3 + 1) % len(VERSIONS)]
        check(truth, old, new, ORACLES[place % len(ORACLES)], place)


@pytest.mark.soundness
@pytest.mark.parametrize("place", range(6))
def test_retests_by_several_processes_are_true(place: int, tmp_path: Path) -> None:
    truth = truth_of(list(SMALL)[place % len(SMALL)], COSTS[place % len(COSTS)])
    old, new = VERSIONS[place], VERSIONS[-1 - place]
    check(truth, old, new, ORACLES[place % len(ORACLES)], place, jobs=2, out=tmp_path / "again")


# -- models ---------------------------------------------------------------------------------------


@cache
def model_truth(name: str, policy: str) -> ModelTruth:
    return ModelTruth(small_model(name), policy)


def gets_unsafe(truth: ModelTruth, state: Values) -> bool:
    """Whether some run of the policy gets unsafe, by following all of them."""
    reached = [truth.number[state]]
    seen = set(reached)
    for here in reached:  # grows
        label = truth.policy[here]
        for outcome in () if label is None else truth.space.outcomes[here][label]:
            if outcome not in seen:
                seen.add(outcome)
                reached.append(outcome)
    return bool(seen & truth.space.unsafe)


def check_model_change(truth: ModelTruth, change: Change, radius: float) -> None:
    after, word = change.after, change.word
    unsafe, safe = gets_unsafe(truth, after.state), truth.safe(after.state, radius)
    if word == "fixed":
        assert not unsafe
    elif change.is_bug:
        assert unsafe
        assert safe
        assert after.radius is not None
        least = truth.smallest_radius(after.state, 4)
        low, high = after.radius
        assert low is not None
        assert least is None or low <= least
        assert high is None or least is None or least <= high
    elif word == "clean":
        assert not unsafe or not safe
    else:
        assert word == "undecided"
    assert (after.run.outcome == "unsafe") <= unsafe
    assert (after.run.outcome == "safe") <= (not unsafe)
    for fault in after.faults or ():
        assert truth.is_fault(fault.state, radius)


def check_model(name: str, old: str, new: str, place: int, **how: Any) -> Retest:
    radius = (math.inf, 1, math.inf, 2)[place % 4]
    settings: dict[str, Any] = {"radius": radius, "runs": 60, "batch": 7, "seed": place}
    settings |= {"evaluations": 6} if place % 5 == 4 else {}
    with run_campaign(small_model(name), old, **settings) as campaign:
        found = campaign.retest(new, **how)
        for change in found.changes:
            check_model_change(model_truth(name, new), change, radius)
        replayed = found.campaign.replay(rerun=True, full=place % 2 == 0)
        assert replayed.ok, str(replayed)
        return found


@pytest.mark.parametrize("name", MODELS)
def test_retests_on_a_few_models_are_true(name: str) -> None:
    first = list(MODELS).index(name)
    for place, (old, new) in enumerate((("first", "random:3"), ("random:8", "first")), first):
        check_model(name, old, new, place).campaign.close()


@pytest.mark.soundness
@pytest.mark.parametrize("name", MODELS)
def test_retests_on_many_models_are_true(name: str, tmp_path: Path) -> None:
    policies = ("first", *(f"random:{seed}" for seed in range(8)))
    found: Counter[str] = Counter()
    for place, (old, new) in enumerate(product(policies, policies)):
        again = check_model(name, old, new, place)
        found += Counter(again.counts)
        again.campaign.close()
    assert found["still"]
    check_model(name, "random:3", "first", 0, jobs=2, out=tmp_path / "again").campaign.close()
