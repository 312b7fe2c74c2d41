"""Ferry: a ferry that holds one car brings cars to their harbours; all harbours are connected.

Every action can be undone, so there are no dead ends and every goal is reachable: one car after
the other. Good plans order the trips so that few are made empty. With c cars and l harbours there
are l^(c+1) + c l^c states: 16 at 2 cars and 2 harbours, 162 at 3 and 3.

The place of the ferry, of each car, and of each car in the goal is drawn uniformly; at least one
car has to move.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain ferry)
  (:requirements :strips :typing :negative-preconditions)
  (:types location car)
  (:predicates
    (at-ferry ?l - location)
    (at ?c - car ?l - location)
    (empty-ferry)
    (on ?c - car)
  )

  (:action sail
    :parameters (?from ?to - location)
    :precondition (and (at-ferry ?from) (not (at-ferry ?to)))
    :effect (and (at-ferry ?to) (not (at-ferry ?from)))
  )

  (:action board
    :parameters (?c - car ?l - location)
    :precondition (and (at-ferry ?l) (at ?c ?l) (empty-ferry))
    :effect (and (on ?c) (not (at ?c ?l)) (not (empty-ferry)))
  )

  (:action debark
    :parameters (?c - car ?l - location)
    :precondition (and (at-ferry ?l) (on ?c))
    :effect (and (at ?c ?l) (empty-ferry) (not (on ?c)))
  )
)
"""


def problem(dice: Dice, *, cars: int, locations: int) -> Problem:
    car_names = numbered("car", cars)
    harbours = numbered("loc", locations)

    def places() -> list[str]:
        return [dice.choice(harbours) for _ in car_names]

    start = places()
    end = dice.unlike(start, places)
    return Problem(
        objects={"location": harbours, "car": car_names},
        init=[
            ("at-ferry", dice.choice(harbours)),
            ("empty-ferry",),
            *(("at", car, harbour) for car, harbour in zip(car_names, start, strict=True)),
        ],
        goal=[("at", car, harbour) for car, harbour in zip(car_names, end, strict=True)],
    )


DOMAIN = BuiltinDomain(
    name="ferry",
    summary="bring cars to their harbours on a ferry that holds one",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("cars", 3, 1, 1000, "number of cars"),
        Parameter("locations", 3, 2, 500, "number of harbours"),
    ),
    pddl=PDDL,
    problem=problem,
)
