"""A truck on three cells as a model in Python: the whole pipeline gives the numbers that were computed by hand."""

from __future__ import annotations

import math

import pytest

from misstep.safety import (
    Answer,
    Decider,
    FuzzSettings,
    OracleShield,
    System,
    analyse_all,
    check_strategy,
    envelope,
    fuzz,
    judge,
)
from support.safety import KINDS

Cell = tuple[int, int, int]  # place, speed, crashed
LENGTH = 3
START: Cell = (0, 0, 0)


class TinyLine:
    """Accelerating may fail. A truck that would pass the last cell crashes."""

    def applicable(self, state: Cell) -> list[str]:
        place, speed, _ = state
        if place + speed >= LENGTH:
            return ["acc", "dec"]
        return [label for label, fits in (("acc", speed <= 1), ("dec", speed >= 1)) if fits]

    def outcomes(self, state: Cell, label: str) -> list[Cell]:
        place, speed, _ = state
        if place + speed >= LENGTH:
            return [(place, speed, 1)]
        if label == "dec":
            return [(place + speed, speed - 1, 0)]
        return [(place + speed, speed + 1, 0), (place + speed, speed, 0)]

    def is_goal(self, state: Cell) -> bool:
        return state[:2] == (2, 0)

    def is_unsafe(self, state: Cell) -> bool:
        return state[2] == 1

    def distance(self, state: Cell) -> float:
        return min(max(0, LENGTH - state[0] - state[1]), 1 - state[2]) if state[2] == 0 else 0

    def initial_states(self) -> list[Cell]:
        return [START]


def all_states(system: System[Cell, str]) -> list[Cell]:
    found = [system.id(START)]
    for id in found:
        for _, outcomes in system.native.actions(id):
            found += [t for t in outcomes if t not in found]
    return list(system.states(found))


ANSWERS = {
    (0, 0, 0): "nnYY",
    (0, 1, 0): "nnYY",
    (1, 1, 0): "nYYY",
    (1, 0, 0): "nYYY",
    (2, 0, 0): "YYYY",
}


def test_the_numbers_of_states_and_outcomes() -> None:
    system = System(TinyLine(), "first")
    states = all_states(system)
    kinds = [system.native.kind(system.id(state)) for state in states]
    assert len(states) == 11
    assert (kinds.count("unsafe"), kinds.count("goal"), kinds.count("dead end")) == (3, 1, 0)
    outcomes = sum(
        len(targets) for s in states for _, targets in system.native.actions(system.id(s))
    )
    assert outcomes == 16


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_of_every_decider(kind: str) -> None:
    system = System(TinyLine(), "first")
    decider = Decider(system, kind)
    for state in all_states(system):
        for radius, answer in zip((0, 1, 2, math.inf), ANSWERS.get(state, "nnnn"), strict=True):
            decided = decider.decide(state, radius)
            assert decided.answer is (Answer.SAFE if answer == "Y" else Answer.NOT_SAFE)
            if decided.is_safe:
                check_strategy(system, decider.strategy(state, radius))


def test_the_whole_pipeline() -> None:
    system = System(TinyLine(), "first")
    report = fuzz(system, FuzzSettings("sample", 1, runs=200), seed=1)
    assert report.ends["unsafe"] == 200  # always accelerating ends in a crash, sooner or later
    decider = Decider(system)
    found = analyse_all(decider, report.runs)
    assert {fault.state for fault in found.faults} == {(0, 1, 0), (1, 1, 0)}
    assert {fault.label for fault in found.faults} == {"acc"}
    assert found.bugs[START] == 2
    assert all(path.faults for path in found.paths)
    verdict = judge(decider, START)
    assert verdict.is_bug
    assert verdict.run is not None
    assert envelope(OracleShield(decider).system, [START]).answer is Answer.SAFE
