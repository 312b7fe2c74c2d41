"""Delivery: a truck that holds one package brings all packages to one cell of a grid.

Every action can be undone, so there are no dead ends, and the grid is connected, so every instance is solvable. The
shortest plan is easy to say: each package costs its own way there and back, and only which one is last makes a
difference. Networks that know distances on the grid are optimal here; those that do not run back and forth.

The truck, the packages and the goal cell are random; a package does not start at the goal.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.grid import adjacency, all_cells, cell_name
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain delivery)
  (:requirements :strips :typing)
  (:types
    cell locatable - object
    package truck - locatable
  )
  (:predicates
    (adjacent ?from ?to - cell)
    (at ?x - locatable ?c - cell)
    (carrying ?t - truck ?p - package)
    (empty ?t - truck)
  )

  (:action move
    :parameters (?t - truck ?from ?to - cell)
    :precondition (and (adjacent ?from ?to) (at ?t ?from))
    :effect (and (at ?t ?to) (not (at ?t ?from)))
  )

  (:action pick-package
    :parameters (?t - truck ?p - package ?c - cell)
    :precondition (and (at ?p ?c) (at ?t ?c) (empty ?t))
    :effect (and (carrying ?t ?p) (not (at ?p ?c)) (not (empty ?t)))
  )

  (:action drop-package
    :parameters (?t - truck ?p - package ?c - cell)
    :precondition (and (carrying ?t ?p) (at ?t ?c))
    :effect (and (at ?p ?c) (empty ?t) (not (carrying ?t ?p)))
  )
)
"""


def problem(dice: Dice, *, width: int, height: int, packages: int) -> Problem:
    cells = all_cells(width, height)
    goal = dice.choice(cells)
    others = [cell for cell in cells if cell != goal]
    names = numbered("package", packages)
    return Problem(
        objects={
            "cell": [cell_name(cell) for cell in cells],
            "truck": ["truck"],
            "package": names,
        },
        init=[
            *adjacency("adjacent", cells),
            ("at", "truck", cell_name(dice.choice(cells))),
            ("empty", "truck"),
            *(("at", name, cell_name(dice.choice(others))) for name in names),
        ],
        goal=[("at", name, cell_name(goal)) for name in names],
    )


DOMAIN = BuiltinDomain(
    name="delivery",
    summary="bring packages one by one to a cell of a grid",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("width", 3, 2, 100, "cells from left to right"),
        Parameter("height", 3, 1, 100, "cells from top to bottom"),
        Parameter("packages", 2, 1, 200, "number of packages"),
    ),
    pddl=PDDL,
    problem=problem,
)
