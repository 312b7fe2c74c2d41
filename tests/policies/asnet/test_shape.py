"""Slots, relations and parameter counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.errors import UnsupportedError
from misstep.policies.asnet.shape import difference, shape_of
from misstep.policies.asnet.structure import ALWAYS, MISSING, structure_of
from misstep.policies.asnet.weights import random_weights
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.task import Task
from support.pddl import read_lifted, read_lifted_text


def test_blocksworld(make_task: Callable[..., Task]) -> None:
    shape = shape_of(make_task("blocksworld", blocks=3).lifted)
    slots = {schema.name: len(schema.slots) for schema in shape.schemas}
    assert sorted(slots.values()) == [4, 4, 5, 5]
    relations = dict(zip(shape.predicate_index, map(len, shape.relations), strict=True))
    assert sorted(relations.values()) == [2, 2, 4, 4, 6]
    assert random_weights(shape).parameter_count == 17_412


# Published sizes of networks with 16 hidden features and two layers.
@pytest.mark.parametrize(
    ("folder", "parameters"),
    [
        ("ipc23-learning/blocksworld", 17_412),
        ("ipc/gripper", 17_667),
        ("ipc23-learning/transport", 14_643),
        ("ipc23-learning/rovers", 49_497),
    ],
)
def test_parameter_counts(shared: Path, folder: str, parameters: int) -> None:
    path = shared / "benchmarks" / folder
    domains = sorted(path.glob("**/domain*.pddl"))
    problems = sorted(p for p in path.glob("**/*.pddl") if not p.name.startswith("domain"))
    if not domains or not problems:
        pytest.skip(f"no {folder} among the shared benchmarks")
    shape = shape_of(read_lifted(domains[0], problems[0]))
    assert random_weights(shape).parameter_count == parameters


DOMAIN = """
(define (domain odd)
  (:requirements :strips :negative-preconditions :equality)
  (:constants home)
  (:predicates (at ?x) (near ?x ?y) (unused ?x) (broken) (seen ?x))
  (:action go
    :parameters (?x ?y)
    :precondition (and (at ?x) (near ?x ?y) (not (= ?x ?y)) (not (broken)))
    :effect (and (at ?y) (not (at ?x)) (seen ?y) (not (seen home))))
)
"""
PROBLEM = """
(define (problem p) (:domain odd) (:objects a b)
  (:init (at a) (near a b) (near b a) (near b home) (seen a) (unused a))
  (:goal (and (at home) (near a b))))
"""


def test_odd_domain(load_text: Callable[[str, str], Task]) -> None:
    """Signs are ignored, equality skipped, duplicates merged, unused predicates dropped."""
    task = load_text(DOMAIN, PROBLEM)
    structure = structure_of(task)
    (go,) = structure.shape.schemas
    assert [str(slot) for slot in go.slots] == [
        "(at ?0)",
        "(near ?0 ?1)",
        "(broken)",
        "(at ?1)",
        "(seen ?1)",
        "(seen home)",
    ]
    assert "unused" not in structure.shape.predicate_index
    # Nothing makes (broken) true, so its slot is MISSING; (near a b) is static, hence always true.
    assert (structure.related[0][:, 2] == MISSING).all()
    near = structure.facts.index(Atom("near", ("a", "b")))
    assert structure.fact_variable[near] == ALWAYS
    assert structure.fact_goal[near] == 1
    assert structure.fact_goal.sum() == 2


def test_always_true_fluent(make_task: Callable[..., Task]) -> None:
    """The translator drops the fact that the start has been visited; it is true, not missing."""
    task = make_task("visitall", width=2, height=2, percent=100, holes=0)
    structure = structure_of(task)
    ground = {name for names in task.fact_names for name in names}
    dropped = [a for a in task.lifted.init if a.predicate == "visited"]
    dropped = [a for a in dropped if f"Atom visited({', '.join(a.terms)})" not in ground]
    assert dropped
    for atom in dropped:
        assert structure.fact_variable[structure.facts.index(atom)] == ALWAYS


def test_unsupported_schema() -> None:
    domain = DOMAIN.replace("(seen ?y)", "(when (broken) (seen ?y))")
    with pytest.raises(UnsupportedError, match="the schema go uses when"):
        shape_of(read_lifted_text(domain, PROBLEM))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(seen ?y) (not (seen home))", "(seen ?y)", "mentions 5 atoms, not 6"),
        ("(near ?x ?y) (not (=", "(near ?y ?x) (not (=", "mentions (near ?1 ?0) where"),
        ("(:action go", "(:action walk", "no schema walk"),
        ("(broken)", "(broken ?x)", "the predicate broken has 1 arguments, not 0"),
        ("seen", "noticed", "no predicate noticed/1"),
        ("(not (broken))", "", "a predicate broken/0 besides"),
    ],
)
def test_difference(old: str, new: str, message: str) -> None:
    ours = shape_of(read_lifted_text(DOMAIN, PROBLEM))
    problem = PROBLEM.replace("seen", "noticed") if old == "seen" else PROBLEM
    theirs = shape_of(read_lifted_text(DOMAIN.replace(old, new), problem))
    assert message in (difference(ours, theirs) or "")
    assert difference(ours, ours) is None
