"""The faults found on unsafe runs are exactly those of the definition."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest

from misstep.safety import (
    Answer,
    Budget,
    Decider,
    FuzzSettings,
    UnsafeRun,
    analyse,
    analyse_all,
    fuzz,
)
from misstep.verdicts import Effort
from support.safety import (
    KINDS,
    UNITS,
    exact_values,
    is_safe,
    lift,
    random_world,
    true_faults,
    unit,
    unit_states,
)

UNSAFE_RUNS = {"U2": "sB", "U3": "sB", "U4": "sB", "U5": "suB", "U11": "stB", "U13": "stB"}
UNSAFE_RUNS |= {"U14": "stB", "U15": "stuB", "U16": "stB", "U12": "stB"}


def run_of(name: str) -> UnsafeRun[int, int]:
    world, states = unit(name), unit_states(name)
    path = [states.index(s) for s in UNSAFE_RUNS[name]]
    return UnsafeRun(tuple(path), tuple(world.policy[s] for s in path[:-1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNSAFE_RUNS)
def test_faults_of_small_systems_by_hand(name: str, kind: str) -> None:
    states = unit_states(name)
    report = analyse(Decider(lift(unit(name)), kind), run_of(name))
    expected = [s for s in UNSAFE_RUNS[name] if s in UNITS[name][2]]
    assert [states[fault.state] for fault in report.faults] == expected
    assert report.is_complete
    exact, safe = exact_values(unit(name)), is_safe(unit(name), None)
    for step in report.steps:
        assert (step.safety is Answer.SAFE) == safe[step.state]
        if not safe[step.state]:
            assert step.smallest_radius is None
        else:
            assert step.smallest_radius == (
                exact[step.state] if exact[step.state] <= 2 else math.inf
            )


def test_radius_faults_are_another_notion() -> None:
    decider = Decider(lift(unit("U16")))
    states = unit_states("U16")
    one = analyse(decider, run_of("U16"), 1)
    assert [(states[f.state], f.kind) for f in one.faults] == [("s", "1-fault")]
    # t is no 1-bug, so it cannot be a 1-fault; without bound it is the fault, and s is none.
    free = analyse(decider, run_of("U16"))
    assert [(states[f.state], f.kind) for f in free.faults] == [("t", "fault")]


def test_the_outcome_that_loses_need_not_be_on_the_run() -> None:
    from support.safety import UNSAFE, Explicit

    # s: a -> {t, B}; t: a -> B, b -> t. The run goes through t, which is safe; B is the other outcome of s.
    world = Explicit([0, 0, UNSAFE], [[(0, [1, 2]), (1, [0])], [(0, [2]), (1, [1])], []], [0, 0, 0])
    report = analyse(Decider(lift(world)), UnsafeRun((0, 1, 2), (0, 0)))
    assert [(f.state, f.outcome) for f in report.faults] == [(0, 2), (1, 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0, 1, 2, math.inf])
def test_faults_of_random_runs_agree_with_the_definition(kind: str, radius: float) -> None:
    bound = None if radius == math.inf else int(radius)
    settings = FuzzSettings("sample", 1, max_steps=20, runs=10)
    faults = paths = 0
    for seed in range(80):
        world = random_world(Random(seed))
        world.initial = list(range(len(world)))
        system = lift(world)
        report = fuzz(system, settings, seed=seed)
        found = analyse_all(Decider(system, kind), report.runs, radius)
        truth, safe, exact = true_faults(world, bound), is_safe(world, bound), exact_values(world)
        assert {f.state for f in found.faults} <= truth
        for path in found.paths:
            paths += 1
            faults += len(path.faults)
            on_path = [step.state for step in path.steps]
            assert {f.state for f in path.faults} == truth & set(on_path)
            assert path.is_complete
            # Safety is lost somewhere on a run that starts safe; it cannot be lost where there is none.
            if safe[on_path[0]]:
                assert path.faults
            if not any(safe[s] for s in on_path):
                assert not path.faults
        for state, smallest in found.bugs.items():
            assert safe[state]
            assert smallest == (exact[state] if exact[state] <= 2 else math.inf)
        for fault, numbers in found.faults.items():
            assert not safe[fault.outcome]
            assert all(fault in found.paths[n].faults for n in numbers)
    assert paths > 50
    assert (faults > 20) == (radius > 0)


def test_a_fault_that_a_limit_leaves_open_is_unknown() -> None:
    decider = Decider(lift(unit("U4")), budget=Budget(evaluations=0))
    report = analyse(decider, run_of("U4"))
    assert [step.is_fault for step in report.steps] == [None]
    assert not report.is_complete
    assert report.faults == ()


def test_knowledge_is_shared_over_paths() -> None:
    system = lift(unit("U16"))
    decider = Decider(system)
    first = analyse_all(decider, [run_of("U16")])
    again = analyse_all(decider, [run_of("U16"), run_of("U16")])
    assert first.effort.evaluations > 0
    assert again.effort.evaluations == 0
    assert list(again.faults.values()) == [(0, 1)]


def test_what_is_known_of_a_state_is_not_decided_again() -> None:
    run = run_of("U15")
    first = analyse(Decider(lift(unit("U15"))), run)
    known = {step.state: step for step in first.steps}
    again = analyse(Decider(lift(unit("U15"))), run, known=known)
    assert again == first
    assert sum(step.effort.evaluations for step in first.steps) > 0
    assert all(step.effort == Effort() for step in again.steps)
    # The label need not be stored with the facts, because the run has it.
    bare = {
        step.state: replace(
            step, label=-1, fault=None if step.fault is None else replace(step.fault, label=-1)
        )
        for step in first.steps
    }
    assert analyse(Decider(lift(unit("U15"))), run, known=bare) == first
