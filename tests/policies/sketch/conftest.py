"""A task with what the built-in domains lack: conditional effects, three arguments, subtypes, constants."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.tasks.load import load_task
from misstep.tasks.task import Task

DOMAIN = """(define (domain odd)
 (:requirements :strips :typing :conditional-effects)
 (:types place thing - object box toy - thing red-box - box)
 (:constants hall - place)
 (:predicates (at ?t - thing ?p - place) (in ?t - toy ?b - box) (way ?a ?b - place ?w - object) (lit)
  (seen ?p - place) (here ?p - place) (done) (idle))
 (:action go :parameters (?a ?b - place ?w - object)
  :precondition (and (here ?a) (way ?a ?b ?w))
  :effect (and (not (here ?a)) (here ?b) (seen ?b) (when (lit) (done))
   (forall (?t - toy) (when (at ?t ?a) (and (not (at ?t ?a)) (at ?t ?b))))))
 (:action switch :parameters () :precondition () :effect (and (when (lit) (not (lit))) (when (not (lit)) (lit))))
 (:action pack :parameters (?t - toy ?b - box ?p - place)
  :precondition (and (here ?p) (at ?t ?p) (at ?b ?p)) :effect (and (in ?t ?b) (not (at ?t ?p))))
)
"""
PROBLEM = """(define (problem small) (:domain odd)
 (:objects attic cellar - place b1 - box b2 - red-box t1 t2 - toy rope stairs)
 (:init (here hall) (seen hall) (idle) (way hall attic rope) (way attic hall rope) (way attic cellar stairs)
  (way cellar hall stairs) (way hall cellar rope) (at b1 attic) (at b2 cellar) (at t1 hall) (at t2 attic))
 (:goal (and (in t1 b2) (in t2 b1) (done)))
)
"""


@pytest.fixture(scope="session")
def odd_task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder: Path = tmp_path_factory.mktemp("odd")
    (folder / "domain.pddl").write_text(DOMAIN)
    (folder / "problem.pddl").write_text(PROBLEM)
    return load_task(folder / "domain.pddl", folder / "problem.pddl")
