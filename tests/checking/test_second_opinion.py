"""The checker against another semantics: PDDL as the simulator of plado understands it.

Both walk through the same random states. The translator and this package on one side, plado on the
other, must agree on every atom, on the names of the applicable actions, on the cost of
each step and on the goal. By default the translator drops what does not matter for
finding plans: variables the goal does not depend on, and actions that change nothing. Two
options make it keep them. It still leaves out facts that never change, and so do we after
checking that plado agrees that they never change.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plado.parser import parse_and_normalize
from plado.semantics.applicable_actions_generator import ApplicableActionsGenerator
from plado.semantics.goal_checker import GoalChecker
from plado.semantics.successor_generator import SuccessorGenerator
from plado.semantics.task import Task

from misstep.checking.sas import SasTask, State, read_sas
from misstep.checking.semantics import apply, is_applicable, is_goal

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks" / "ipc"

LIGHTS_DOMAIN = """
(define (domain lights)
  (:requirements :strips :typing :conditional-effects :negative-preconditions
                 :disjunctive-preconditions)
  (:types switch lamp)
  (:predicates (on ?l - lamp) (broken ?l - lamp) (wired ?s - switch ?l - lamp)
               (at ?s - switch) (next ?a ?b - switch) (tired))
  (:action press
    :parameters (?s - switch)
    :precondition (and (at ?s) (not (tired)))
    :effect (and (tired)
      (forall (?l - lamp) (and
        (when (and (wired ?s ?l) (not (on ?l)) (not (broken ?l))) (on ?l))
        (when (and (wired ?s ?l) (on ?l)) (not (on ?l)))))))
  (:action surge
    :parameters (?l - lamp)
    :precondition (or (on ?l) (tired))
    :effect (and (not (on ?l))
      (when (broken ?l) (not (broken ?l)))
      (when (not (on ?l)) (on ?l))))
  (:action kick
    :parameters (?l - lamp)
    :precondition (and)
    :effect (and (when (on ?l) (broken ?l)) (when (tired) (and (not (on ?l)) (not (broken ?l))))))
  (:action rest :parameters () :precondition (tired) :effect (not (tired)))
  (:action go
    :parameters (?a ?b - switch)
    :precondition (and (next ?a ?b) (not (at ?b)))
    :effect (when (at ?a) (and (not (at ?a)) (at ?b)))))
"""

LIGHTS_PROBLEM = """
(define (problem three) (:domain lights)
  (:objects s1 s2 s3 - switch l1 l2 l3 - lamp)
  (:init (at s1) (next s1 s2) (next s2 s3) (next s3 s1) (on l2) (broken l3)
         (wired s1 l1) (wired s1 l2) (wired s2 l2) (wired s3 l3) (wired s3 l1))
  (:goal (and (on l1) (on l2) (on l3))))
"""


class Simulator:
    """plado's view of a task, with atoms and actions as text."""

    def __init__(self, domain: Path, problem: Path) -> None:
        # Its checks print warnings about requirements that old domains do not declare.
        self.task: Any = Task(*parse_and_normalize(str(domain), str(problem), skip_checks=True))
        self._actions: Any = ApplicableActionsGenerator(self.task)
        self._successors: Any = SuccessorGenerator(self.task)
        self._is_goal: Any = GoalChecker(self.task)

    def atoms(self, state: Any) -> set[str]:
        return {
            f"{self.task.predicates[predicate].name}"
            f"({', '.join(self.task.objects[argument] for argument in arguments)})"
            for predicate, tuples in enumerate(state.atoms)
            for arguments in tuples
        }

    def actions(self, state: Any) -> dict[str, Any]:
        found = list(self._actions(state))
        return {self.task.dump_action(*action)[1:-1].strip(): action for action in found}

    def successor(self, state: Any, action: Any) -> Any:
        outcomes = self._successors(state, action)
        assert len(outcomes) <= 1
        # No outcome: none of the action's conditional effects fires.
        return outcomes[0][0] if outcomes else state

    def cost(self, state: Any) -> int | None:
        for function, values in zip(self.task.functions, state.fluents, strict=True):
            if function.name == "total-cost":
                return int(values[()])
        return None

    def is_goal(self, state: Any) -> bool:
        return bool(self._is_goal(state))


def translate(domain: Path, problem: Path, folder: Path) -> SasTask:
    sas = folder / "output.sas"
    command = [sys.executable, "-m", "fast_downward.translate", str(domain), str(problem)]
    command += ["--sas-file", str(sas), "--keep-unimportant-variables", "--keep-no-ops"]
    subprocess.run(command, check=True, capture_output=True)
    return read_sas(sas)


def represented_atoms(task: SasTask) -> set[str]:
    names = {name for variable in task.variables for name in variable.values}
    return {re.sub("^(Negated)?Atom ", "", name) for name in names - {"<none of those>"}}


def true_atoms(task: SasTask, state: State) -> set[str]:
    names = (task.value_name(fact) for fact in enumerate(state))
    return {name.removeprefix("Atom ") for name in names if name.startswith("Atom ")}


def walk_and_compare(domain: Path, problem: Path, folder: Path, steps: int) -> SasTask:
    task = translate(domain, problem, folder)
    simulator = Simulator(domain, problem)
    represented = represented_atoms(task)
    constant = simulator.atoms(simulator.task.initial_state) - represented
    for seed in range(3):
        rng = random.Random(seed)
        state, other = task.initial_state, simulator.task.initial_state
        for _ in range(steps):
            atoms = simulator.atoms(other)
            assert atoms & represented == true_atoms(task, state)
            assert atoms - represented == constant
            assert simulator.is_goal(other) == is_goal(state, task)
            applicable = [op for op in task.operators if is_applicable(state, op)]
            actions = simulator.actions(other)
            assert {op.name for op in applicable} == set(actions)
            if not actions:
                break
            name = rng.choice(sorted(actions))
            same_name = [op for op in applicable if op.name == name]
            # Parts of one action never disagree: plans need only names.
            assert len({(apply(state, op), op.cost) for op in same_name}) == 1
            successor = simulator.successor(other, actions[name])
            before, after = simulator.cost(other), simulator.cost(successor)
            if task.metric and before is not None and after is not None:
                assert same_name[0].cost == after - before
            else:
                assert same_name[0].cost == 1
            state, other = apply(state, same_name[0]), successor
    return task


# Storage is missing: its types use (either ...), which plado does not parse.
@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("blocks", "probBLOCKS-4-0.pddl"),
        ("gripper", "prob01.pddl"),
        ("satellite", "p01-pfile1.pddl"),
        ("elevators-opt11-strips", "p01.pddl"),
        ("floortile-opt11-strips", "opt-p01-001.pddl"),
        ("scanalyzer-opt11-strips", "p01.pddl"),
        ("transport-opt11-strips", "p01.pddl"),
        ("visitall-opt11-strips", "problem03-full.pddl"),
    ],
)
def test_plado_agrees_on_competition_tasks(domain: str, problem: str, tmp_path: Path) -> None:
    folder = BENCHMARKS / domain
    if not (folder / problem).exists():
        pytest.skip(f"needs the benchmark task {domain}/{problem}")
    walk_and_compare(folder / "domain.pddl", folder / problem, tmp_path, steps=30)


def test_plado_agrees_on_conditional_effects(tmp_path: Path) -> None:
    domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    domain.write_text(LIGHTS_DOMAIN)
    problem.write_text(LIGHTS_PROBLEM)
    task = walk_and_compare(domain, problem, tmp_path, steps=200)
    # The task does have what makes it interesting.
    names = [operator.name for operator in task.operators]
    assert len(set(names)) < len(names)
    assert any(effect.conditions for op in task.operators for effect in op.effects)
