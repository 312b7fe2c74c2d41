"""A small domain with a task, to be broken in one place by the tests of what reads PDDL."""

from __future__ import annotations

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
