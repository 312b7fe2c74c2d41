"""Verdicts with witnesses, which are checked before a bug is reported."""

from __future__ import annotations

import math
from random import Random

import pytest

from misstep.errors import MisstepError, UsageError
from misstep.safety import (
    Answer,
    Budget,
    Decider,
    Status,
    Strategy,
    UnsafeRun,
    check_run,
    check_strategy,
    judge,
)
from support.safety import KINDS, UNSAFE, is_safe, lift, policy_graph, random_world, unit


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_agree_with_the_truth(kind: str) -> None:
    bugs = 0
    for seed in range(60):
        world = random_world(Random(seed))
        decider = Decider(lift(world), kind)
        for radius in (0, 1, math.inf):
            safe = is_safe(world, None if radius == math.inf else int(radius))
            for s in range(len(world)):
                verdict = judge(decider, s, radius)
                unsafe = any(world.flags[t] & UNSAFE for t in policy_graph(world, s))
                assert verdict.status is (Status.BUG if unsafe and safe[s] else Status.NOT_A_BUG)
                assert verdict.policy is (Answer.NOT_SAFE if unsafe else Answer.SAFE)
                if verdict.is_bug:
                    bugs += 1
                    assert verdict.run is not None
                    assert verdict.strategy is not None
                    assert verdict.run.states[0] == s == verdict.strategy.start
    assert bugs > 100


def test_a_verdict_that_a_limit_leaves_open_is_unknown() -> None:
    decider = Decider(lift(unit("U4")), budget=Budget(evaluations=0))
    verdict = judge(decider, 0)
    assert verdict.status is Status.UNKNOWN
    assert verdict.limits == ("localfix: evaluations",)
    assert not verdict.is_decided
    # The envelope is cut before the unsafe state, the state is safe: whether the policy gets unsafe is open.
    cut = judge(Decider(lift(unit("U4"))), 0, envelope_budget=Budget(expansions=0))
    assert (cut.status, cut.policy, cut.safety) == (Status.UNKNOWN, Answer.UNKNOWN, Answer.SAFE)
    assert cut.limits == ("envelope: expansions",)
    # Nothing to be repaired, whatever the policy does.
    lost = judge(Decider(lift(unit("U15"))), 1, envelope_budget=Budget(expansions=0))
    assert lost.status is Status.NOT_A_BUG


def test_a_given_run_is_used_and_checked() -> None:
    decider = Decider(lift(unit("U4")))
    verdict = judge(decider, 0, run=UnsafeRun((0, 2), (0,)))
    assert verdict.is_bug
    with pytest.raises(UsageError, match="does not start"):
        judge(decider, 1, run=UnsafeRun((0, 2), (0,)))
    with pytest.raises(MisstepError, match="not an unsafe run"):
        judge(decider, 0, run=UnsafeRun((0, 1), (0,)))


def test_a_run_that_is_given_is_checked_first() -> None:
    """A wrong run is refused, whether the state is safe or not."""
    safe, lost = Decider(lift(unit("U4"))), Decider(lift(unit("U15")))
    with pytest.raises(UsageError, match="does not start"):
        judge(safe, 0, run=UnsafeRun((), ()))
    for decider, state in ((safe, 0), (lost, 1)):
        for run in (UnsafeRun((state,), ()), UnsafeRun((state, state), (7,))):
            with pytest.raises(UsageError, match="not an unsafe run of the policy"):
                judge(decider, state, run=run)
    assert judge(lost, 1).status is Status.NOT_A_BUG


def test_the_checker_refuses_wrong_witnesses() -> None:
    system = lift(unit("U4"))
    check_strategy(system, Strategy(0, 2, {0: 1, 1: 1}))
    for labels, radius in (
        ({0: 1, 1: 1}, 1),
        ({0: 0, 1: 1}, 2),
        ({0: 1}, 2),
        ({0: 1, 1: 0}, math.inf),
        ({}, math.inf),
    ):
        with pytest.raises(MisstepError, match="not a safe strategy"):
            check_strategy(system, Strategy(0, radius, labels))
    check_run(system, UnsafeRun((0, 2), (0,)))
    with pytest.raises(MisstepError, match="not an unsafe run"):
        check_run(system, UnsafeRun((0, 3), (0,)))


def test_wrong_arguments_are_refused() -> None:
    system = lift(unit("U4"))
    with pytest.raises(UsageError, match="no decider 'magic'"):
        Decider(system, "magic")
    decider = Decider(system)
    for radius in (-1, 0.5, math.nan, True):
        with pytest.raises(UsageError, match="the radius is"):
            decider.decide(0, radius)
    with pytest.raises(UsageError, match="not known to be safe"):
        decider.strategy(0, 1)
    with pytest.raises(UsageError, match="not a state of this system"):
        decider.decide(99)
    assert decider.known(0) is Answer.UNKNOWN
    assert decider.decide(0, 10**30).is_safe
    assert decider.known(0) is Answer.SAFE
