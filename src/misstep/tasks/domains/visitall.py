"""Visitall: a robot walks on a grid and has to see a set of its cells.

What was seen stays seen, so no action that sees something new can be undone; but every step can
be walked back, so there are no dead ends. The cells form one connected region, so every instance
is solvable. Any plan is easy to find; the shortest is a travelling salesman's path. The states
are pairs of a position and a set of seen cells, exponentially many in the area.

The start and the goal cells are random. Holes, where asked for, are what remains outside of a
region that is grown from a random cell, one random neighbour at a time; growth is what keeps it
connected.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.grid import adjacency, cell_name, grow
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem

PDDL = """\
(define (domain visitall)
  (:requirements :strips :typing)
  (:types cell)
  (:predicates
    (connected ?from ?to - cell)
    (at-robot ?c - cell)
    (visited ?c - cell)
  )

  (:action move
    :parameters (?from ?to - cell)
    :precondition (and (at-robot ?from) (connected ?from ?to))
    :effect (and (at-robot ?to) (visited ?to) (not (at-robot ?from)))
  )
)
"""


def problem(dice: Dice, *, width: int, height: int, percent: int, holes: int) -> Problem:
    count = max(2, width * height - width * height * holes // 100)
    region = grow(dice, width, height, count)
    start, *others = dice.shuffled(sorted(region))
    wanted = max(1, len(others) * percent // 100)
    return Problem(
        objects={"cell": [cell_name(cell) for cell in sorted(region)]},
        init=[
            ("at-robot", cell_name(start)),
            ("visited", cell_name(start)),
            *adjacency("connected", region),
        ],
        goal=[("visited", cell_name(cell)) for cell in sorted(others[:wanted])],
    )


DOMAIN = BuiltinDomain(
    name="visitall",
    summary="walk over a grid until a set of cells has been seen",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("width", 3, 2, 100, "cells from left to right"),
        Parameter("height", 3, 1, 100, "cells from top to bottom"),
        Parameter("percent", 100, 1, 100, "share of the cells to see, besides the start"),
        Parameter("holes", 0, 0, 70, "share of the grid that is missing, in percent"),
    ),
    pddl=PDDL,
    problem=problem,
)
