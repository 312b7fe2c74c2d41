"""A small domain with a task, to be broken in one place by the tests of what reads PDDL, and readers for texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from misstep.tasks.pddl.lifted import LiftedTask, lift
from misstep.tasks.pddl.text import Source, read_source
from misstep.tasks.pddl.translate import translate_sources

DOMAIN = """(define (domain rooms)
 (:requirements :strips :typing)
 (:types room ball - object)
 (:constants hall - room)
 (:predicates (at ?r - room) (in ?b - ball ?r - room) (free))
 (:action move
  :parameters (?a ?b - room)
  :precondition (and (at ?a) (not (= ?a ?b)))
  :effect (and (at ?b)
    (not (at ?a))))
)
"""

PROBLEM = """(define (problem two)
 (:domain rooms)
 (:objects r1 r2 - room
    b1 - ball)
 (:init (at r1) (in b1 r2)
   (free))
 (:goal (and (at r2)))
)
"""


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    return text.replace(old, new)


def read_lifted(domain: Path, problem: Path) -> LiftedTask:
    return lift(read_source(domain), read_source(problem))


def read_lifted_text(domain: str, problem: str) -> LiftedTask:
    return lift(Source("<domain>", domain.encode()), Source("<problem>", problem.encode()))


def translate(domain: Path | str, problem: Path | str, **options: Any) -> bytes:
    return translate_sources((read_source(Path(domain)), read_source(Path(problem))), **options)
