"""The true atoms of a state, with what the translator drops."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.errors import UnsupportedError
from misstep.tasks.load import load_task
from misstep.tasks.pddl.atoms import AtomTable, goal_atoms
from support.tasks import SMALL, small_task, walk

NEGATIVE = """(define (problem p) (:domain d) (:init (a)) (:goal (not (a))))"""
DOMAIN = """(define (domain d) (:requirements :strips :negative-preconditions) (:predicates (a))
(:action drop :parameters () :precondition (a) :effect (not (a))))"""


@pytest.mark.parametrize("name", sorted(SMALL))
def test_in_the_initial_state_they_are_those_of_the_problem(name: str) -> None:
    task = small_task(name)
    table = AtomTable(task)
    atoms = table.true(task.initial_state.values)
    assert len(set(atoms)) == len(atoms)
    assert set(atoms) == set(task.lifted.init)
    # visitall: the first cell is visited for ever, though visited is no static predicate.
    assert set(table.constant) >= set(task.lifted.static_facts)


@pytest.mark.parametrize("name", ["visitall-3x3", "blocksworld-4", "spanner-3"])
def test_actions_change_them_as_their_schemas_say(name: str) -> None:
    task = small_task(name)
    table = AtomTable(task)
    for state in walk(task, 40, seed=3):
        before = set(table.true(state.values))
        for operator in task.applicable(state):
            schema, *arguments = task.operator_name(operator).split()
            lifted = task.lifted.schema(schema)
            binding = lifted.binding(arguments)
            effects = [(e.atom.ground(binding), e.positive) for e in lifted.effect]
            deleted = {atom for atom, positive in effects if not positive}
            added = {atom for atom, positive in effects if positive}
            after = set(table.true(task.apply(state, operator).values))
            assert after == (before - deleted) | added


def test_a_goal_that_is_no_conjunction_of_atoms_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(DOMAIN)
    (tmp_path / "p.pddl").write_text(NEGATIVE)
    task = load_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
    with pytest.raises(UnsupportedError, match=r"the goal of p contains \(not \(a\)\)"):
        goal_atoms(task.lifted, "here", "programs see nothing else")
