"""Problems are read, changed and written again."""

from __future__ import annotations

import pytest

from misstep.comparison.shrink.problem import from_state, pddl_name, read_problem
from misstep.tasks.domains import DOMAINS, generate
from misstep.tasks.pddl.text import Source
from support.small import task_of


def source(text: str) -> Source:
    return Source("p.pddl", text.encode())


@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_a_problem_that_is_written_reads_the_same(domain: str) -> None:
    _, text = generate(domain).files.values()
    problem = read_problem(source(text))
    assert problem.objects
    assert problem.goals
    again = read_problem(source(problem.text(f"{domain} 1")))
    assert again == problem


def test_objects_go_with_facts_values_and_goals() -> None:
    problem = read_problem(
        source(
            "(define (problem p) (:domain d) (:objects a b - t c) "
            "(:init (on a b) (free c) (= (cost a b) 3) (= (total-cost) 0)) "
            "(:goal (and (on b a) (and (free c) (not (on a c))))) (:metric minimize (total-cost)))"
        )
    )
    assert problem.objects == (("a", "t"), ("b", "t"), ("c", "object"))
    assert [goal.text for goal in problem.goals] == ["(on b a)", "(free c)", "(not (on a c))"]
    small = problem.without_objects({"a"})
    assert small.names == ("b", "c")
    assert small.facts == (("free", "c"),)
    assert [goal.text for goal in small.goals] == ["(free c)"]
    assert [text for text, _ in small.values] == ["(= (total-cost) 0)"]
    assert "(:metric minimize (total-cost))" in small.text("p")


def test_what_is_no_literal_keeps_its_objects() -> None:
    problem = read_problem(
        source(
            "(define (problem p) (:domain d) (:objects a b) (:init) "
            "(:goal (and (f b) (exists (?x) (on ?x a)))))"
        )
    )
    assert "a" in problem.pinned
    assert "b" not in problem.pinned


def test_a_state_becomes_the_initial_state() -> None:
    task = task_of("gripper", balls=1)
    state = task.initial_state
    for name in ("pick ball1 room-a left", "move room-a room-b"):
        state = task.apply(state, task.resolve(name, state))
    assert task.pddl is not None
    moved = from_state(read_problem(task.pddl[1]), task, state)
    assert set(moved.facts) == {
        ("at-robot", "room-b"),
        ("carry", "ball1", "left"),
        ("free", "right"),
    }


@pytest.mark.parametrize(
    ("name", "written"), [("p01", "p01"), ("7 x/Y", "p-7-x-y"), ("-", "p-"), ("a.b", "a-b")]
)
def test_names_that_every_parser_takes(name: str, written: str) -> None:
    assert pddl_name(name) == written
