"""Miconic: a lift without a limit on passengers brings each of them to their floor.

A passenger who was served stays so, hence not every action can be undone; but the lift can always
go everywhere and board everybody again, so there are no dead ends and every instance is solvable.
Any plan is easy to find; the shortest is NP-hard. With p passengers and f floors there are f 4^p
states (each passenger is waiting, in the lift, served, or served and boarded again).

Origin and destination of each passenger are two different random floors.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain miconic)
  (:requirements :strips :typing)
  (:types passenger floor)
  (:predicates
    (above ?higher ?lower - floor)
    (origin ?p - passenger ?f - floor)
    (destination ?p - passenger ?f - floor)
    (lift-at ?f - floor)
    (boarded ?p - passenger)
    (served ?p - passenger)
  )

  (:action board
    :parameters (?p - passenger ?f - floor)
    :precondition (and (lift-at ?f) (origin ?p ?f))
    :effect (boarded ?p)
  )

  (:action depart
    :parameters (?p - passenger ?f - floor)
    :precondition (and (lift-at ?f) (destination ?p ?f) (boarded ?p))
    :effect (and (served ?p) (not (boarded ?p)))
  )

  (:action up
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?to ?from))
    :effect (and (lift-at ?to) (not (lift-at ?from)))
  )

  (:action down
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?from ?to))
    :effect (and (lift-at ?to) (not (lift-at ?from)))
  )
)
"""


def problem(dice: Dice, *, passengers: int, floors: int) -> Problem:
    people = numbered("p", passengers)
    levels = numbered("f", floors)
    trips = [(person, *dice.sample(levels, 2)) for person in people]
    return Problem(
        objects={"passenger": people, "floor": levels},
        init=[
            ("lift-at", dice.choice(levels)),
            *(("origin", person, origin) for person, origin, _ in trips),
            *(("destination", person, destination) for person, _, destination in trips),
            *(("above", high, low) for i, high in enumerate(levels) for low in levels[:i]),
        ],
        goal=[("served", person) for person in people],
    )


DOMAIN = BuiltinDomain(
    name="miconic",
    summary="bring the passengers of a lift to their floors",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("passengers", 3, 1, 1000, "number of passengers"),
        Parameter("floors", 4, 2, 300, "number of floors"),
    ),
    pddl=PDDL,
    problem=problem,
)
