"""A small domain with everything that a graph can contain, and rankers of it that the tests write themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from misstep.policies.policy import States
from misstep.policies.wl.layout import layout_of
from misstep.policies.wl.model_file import WlModel
from misstep.policies.wl.naive import Collector
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

# Static atoms (door), a constant (hall), a nullary predicate, a goal that always holds and a goal in two places.
DOMAIN = """(define (domain rooms) (:requirements :strips :typing)
  (:types room robot)
  (:constants hall - room)
  (:predicates (at ?r - robot ?p - room) (door ?p ?q - room) (seen ?p - room) (calm))
  (:action go :parameters (?r - robot ?p ?q - room)
    :precondition (and (at ?r ?p) (door ?p ?q))
    :effect (and (not (at ?r ?p)) (at ?r ?q) (seen ?q) (not (calm))))
  (:action rest :parameters (?r - robot) :precondition (at ?r hall) :effect (calm)))
"""
PROBLEM = """(define (problem p) (:domain rooms)
  (:objects a b c - room r s - robot)
  (:init (at r a) (at s hall) (door a b) (door b a) (door b c) (door c b) (door c hall) (door hall c) (calm) (seen a))
  (:goal (and (seen b) (seen hall) (at r hall) (calm) (door a b))))
"""
PREDICATES = (("at", 2), ("calm", 0), ("door", 2), ("seen", 1))


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("rooms")
    (folder / "domain.pddl").write_text(DOMAIN)
    (folder / "problem.pddl").write_text(PROBLEM)
    return load_planning_task(folder)


def walk(task: Task, count: int, seed: int = 0) -> States:
    """States of a random walk."""
    random = np.random.default_rng(seed)
    rows = [np.array([task.initial_state.values], dtype=np.int32)]
    while len(rows) < count:
        operators = task.applicable_batch(rows[-1])[1]
        rows.append(task.apply_batch(rows[-1], random.choice(operators, 1)))
    return np.concatenate(rows)


@pytest.fixture(scope="session")
def states(task: Task) -> States:
    return walk(task, 60)


@pytest.fixture(scope="session")
def ranker(task: Task, states: States) -> Callable[..., WlModel]:
    """Random weights for the colours of the first few states, so that others have colours that are new."""

    def make(iterations: int = 2, *, multiset: bool = False, met: int = 6) -> WlModel:
        collector = Collector(iterations, multiset=multiset)
        layout = layout_of(task, PREDICATES)
        for values in states[:met].tolist():
            collector.collect(layout.graph(values), layout.objects)
        weights = np.random.default_rng(iterations).normal(size=collector.size)
        return collector.model("rooms", PREDICATES, weights)

    return make


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "rooms.model"
