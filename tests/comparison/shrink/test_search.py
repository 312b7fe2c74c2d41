"""The search alone, with made-up answers: its result is 1-minimal, also after interruptions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from misstep.comparison.shrink.legal import Invariants
from misstep.comparison.shrink.problem import Goal, Problem
from misstep.comparison.shrink.search import PHASES, Position, Space
from misstep.errors import InputFormatError
from support.small import task_of

Works = Callable[[Problem], bool]


def space() -> Space:
    task = task_of("gripper", balls=1)
    return Space(Invariants(task, task.initial_state), "any")


def whole(size: int) -> Problem:
    names = [f"o{number}" for number in range(size)]
    return Problem(
        "d",
        tuple((name, "object") for name in names),
        tuple(("p", name) for name in names),
        tuple(Goal(f"(q {name})", frozenset([name]), ("q", name)) for name in names),
    )


def searched(
    own: Space, problem: Problem, works: Works, stop: int = 10**9, position: Position | None = None
) -> tuple[Problem, Position, int]:
    """Until the end, or until so many successes."""
    position = position or Position()
    asked = 0
    while not position.done:
        unused: list[str] = []
        for place, ways in own.attempts(problem, unused, position):
            asked += len(ways)
            way = next((way for way in ways if works(way)), None)
            if way is not None:
                problem, position = way, replace(place, changed=True)
                stop -= 1
                break
        else:
            position = replace(position, done=True)
        if stop == 0:
            break
    return problem, position, asked


def needs(rng: random.Random, size: int) -> Works:
    """Some objects, goals and facts are needed, and of some pairs of objects one of both."""
    problem = whole(size)
    facts = {fact for fact in problem.facts if rng.random() < 0.2}
    goals = {goal for goal in problem.goals if rng.random() < 0.2}
    pairs = [rng.sample(problem.names, 2) for _ in range(3)]

    def works(small: Problem) -> bool:
        either = all(any(name in small.names for name in pair) for pair in pairs)
        return facts <= set(small.facts) and goals <= set(small.goals) and either

    return works


@pytest.mark.parametrize("seed", range(20))
def test_nothing_single_that_is_left_can_be_removed(seed: int) -> None:
    own, works = space(), needs(random.Random(seed), 12)
    problem, position, _ = searched(own, whole(12), works)
    assert works(problem)
    assert position.done
    for phase in PHASES[1:]:
        for element in own.elements(phase, problem):
            assert not any(works(way) for way in own.without(phase, problem, [element]))


@pytest.mark.parametrize("seed", range(20))
def test_interrupted_after_any_success_it_ends_the_same(seed: int) -> None:
    own, works = space(), needs(random.Random(seed), 9)
    expected, _, _ = searched(own, whole(9), works)
    for stop in range(1, 9):
        problem, position, _ = searched(own, whole(9), works, stop)
        taken_up = Position.from_dict(position.as_dict())
        assert searched(own, problem, works, position=taken_up)[0] == expected


def test_it_asks_few_questions_where_little_is_needed() -> None:
    own = space()
    _, _, asked = searched(own, whole(64), lambda small: "o7" in small.names)
    assert asked < 64


@pytest.mark.parametrize(
    "values",
    [
        *(None, {"phase": 9}, {"phase": -1}, {"phase": "1"}, {"phase": True}),
        *({"strange": 1}, {"done": 1}, {"size": 2**40}),
    ],
)
def test_a_damaged_position_is_refused(values: object) -> None:
    with pytest.raises(InputFormatError):
        Position.from_dict(values)
