"""Gripper: a robot with two grippers carries balls between two rooms.

Every action can be undone and nothing is ever used up, so there are no dead ends and every goal
is reachable. Plans are trivial to find; what makes the domain hard for optimal search is that all
balls look the same. With n balls there are 2 (2^n + n 2^n + n (n-1) 2^(n-2)) states: 28 at 2
balls, 256 at 4.

As in the competitions, all balls have to go from the room where the robot starts to the other. `scatter`
is the percentage of balls whose two rooms are drawn at random instead; at least one ball has to move.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain gripper)
  (:requirements :strips :typing :negative-preconditions)
  (:types room ball gripper)
  (:predicates
    (at-robot ?r - room)
    (at ?b - ball ?r - room)
    (free ?g - gripper)
    (carry ?b - ball ?g - gripper)
  )

  (:action move
    :parameters (?from ?to - room)
    :precondition (and (at-robot ?from) (not (at-robot ?to)))
    :effect (and (at-robot ?to) (not (at-robot ?from)))
  )

  (:action pick
    :parameters (?b - ball ?r - room ?g - gripper)
    :precondition (and (at-robot ?r) (at ?b ?r) (free ?g))
    :effect (and (carry ?b ?g) (not (at ?b ?r)) (not (free ?g)))
  )

  (:action drop
    :parameters (?b - ball ?r - room ?g - gripper)
    :precondition (and (at-robot ?r) (carry ?b ?g))
    :effect (and (at ?b ?r) (free ?g) (not (carry ?b ?g)))
  )
)
"""

ROOMS = ["room-a", "room-b"]
GRIPPERS = ["left", "right"]


def problem(dice: Dice, *, balls: int, scatter: int) -> Problem:
    names = numbered("ball", balls)
    scattered = [dice.below(100) < scatter for _ in names]

    def places(usual: str) -> list[str]:
        return [dice.choice(ROOMS) if anywhere else usual for anywhere in scattered]

    start = places(ROOMS[0])
    end = dice.unlike(start, lambda: places(ROOMS[1]))
    return Problem(
        objects={"room": ROOMS, "ball": names, "gripper": GRIPPERS},
        init=[
            ("at-robot", ROOMS[0]),
            *(("free", gripper) for gripper in GRIPPERS),
            *(("at", ball, room) for ball, room in zip(names, start, strict=True)),
        ],
        goal=[("at", ball, room) for ball, room in zip(names, end, strict=True)],
    )


DOMAIN = BuiltinDomain(
    name="gripper",
    summary="carry balls between two rooms, two at a time",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("balls", 4, 1, 2000, "number of balls"),
        Parameter("scatter", 0, 0, 100, "percentage of balls with random rooms"),
    ),
    pddl=PDDL,
    problem=problem,
)
