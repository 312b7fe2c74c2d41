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

Cell = tuple[int, int]


def problem(dice: Dice, *, width: int, height: int, percent: int, holes: int) -> Problem:
    count = max(2, width * height - width * height * holes // 100)
    region = _grow(dice, width, height, count)
    start, *others = dice.shuffled(sorted(region))
    wanted = max(1, len(others) * percent // 100)
    return Problem(
        objects={"cell": [_name(cell) for cell in sorted(region)]},
        init=[
            ("at-robot", _name(start)),
            ("visited", _name(start)),
            *(
                ("connected", _name(cell), _name(neighbour))
                for cell in sorted(region)
                for neighbour in _neighbours(cell)
                if neighbour in region
            ),
        ],
        goal=[("visited", _name(cell)) for cell in sorted(others[:wanted])],
    )


def _grow(dice: Dice, width: int, height: int, count: int) -> set[Cell]:
    region: set[Cell] = set()
    border: list[Cell] = [(dice.below(width), dice.below(height))]
    while len(region) < count:
        # Swapping the drawn cell to the end keeps its removal constant-time.
        i = dice.below(len(border))
        border[i], border[-1] = border[-1], border[i]
        cell = border.pop()
        if cell in region:
            continue
        region.add(cell)
        border.extend(
            (x, y)
            for x, y in _neighbours(cell)
            if 0 <= x < width and 0 <= y < height and (x, y) not in region
        )
    return region


def _neighbours(cell: Cell) -> tuple[Cell, ...]:
    x, y = cell
    return (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)


def _name(cell: Cell) -> str:
    return f"x{cell[0]}-y{cell[1]}"


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
