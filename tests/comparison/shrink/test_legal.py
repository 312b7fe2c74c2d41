"""Which states may be the start of a smaller task, and how a state is completed when objects are removed."""

from __future__ import annotations

from misstep.comparison.shrink.legal import Invariants, level
from misstep.comparison.shrink.problem import Problem, from_state, read_problem
from misstep.tasks.task import Task
from support.small import task_of


def start_of(task: Task, *names: str) -> tuple[Problem, Invariants]:
    state = task.initial_state
    for name in names:
        state = task.apply(state, task.resolve(name, state))
    assert task.pddl is not None
    return from_state(read_problem(task.pddl[1]), task, state), Invariants(task, state)


def test_a_gripper_that_loses_its_ball_is_free() -> None:
    problem, invariants = start_of(task_of("gripper", balls=2), "pick ball1 room-a left")
    assert invariants.consistent(problem)
    small = problem.without_objects({"ball1"})
    assert not invariants.consistent(small)
    (repaired,) = invariants.repairs(small, 5)
    assert set(repaired.facts) - set(small.facts) == {("free", "left")}
    assert invariants.consistent(repaired)


def test_a_ball_whose_room_is_gone_may_lie_elsewhere_or_be_carried() -> None:
    problem, invariants = start_of(task_of("gripper", balls=1))
    small = problem.without_objects({"room-a"})
    ways = list(invariants.repairs(small, 9))
    assert {("at", "ball1", "room-b"), ("at-robot", "room-b")} <= set(ways[0].facts)
    assert all(invariants.consistent(way) for way in ways)
    assert len(set(ways)) == len(ways)
    # Carrying it would need a gripper that is not free, and both are.
    assert len(ways) == 1


def test_a_tower_closes_over_a_block_that_is_taken_out() -> None:
    task = task_of("blocksworld", blocks=3)
    state = task.parse_state("on(b1, b2), on(b2, b3), ontable(b3), clear(b1), handempty()")
    assert task.pddl is not None
    problem = from_state(read_problem(task.pddl[1]), task, state)
    invariants = Invariants(task, state)
    small = problem.without_objects({"b2"})
    assert ("on", "b1", "b3") in next(invariants.repairs(small, 1)).facts


def test_facts_that_a_group_needs_stay() -> None:
    problem, invariants = start_of(task_of("visitall", width=2, height=2))
    robot = next(fact for fact in problem.facts if fact[0] == "at-robot")
    visited = next(fact for fact in problem.facts if fact[0] == "visited")
    assert not invariants.removable(robot)
    assert invariants.removable(visited)


def test_the_strongest_word_that_holds() -> None:
    problem, invariants = start_of(task_of("gripper", balls=2))
    goal = problem.without_goals(problem.goals[:1])
    assert level(goal, problem, invariants, problem.names) == "reachable"
    fewer = problem.without_objects({"ball2"})
    assert level(fewer, problem, invariants, problem.names) == "mutex"
    nowhere = problem.without_facts([("at-robot", "room-a")])
    assert level(nowhere, problem, invariants, problem.names) == "any"
