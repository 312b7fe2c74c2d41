"""Floortile: robots colour the tiles of a floor, each from the tile above or below it.

A painted tile can be neither entered nor painted again, so a wrong colour and a robot or a tile
that is walled in are dead ends; painting cannot be undone. The floor has one more row than is
painted, at the bottom. Delete relaxation does not see the walls, so planners guided by it run into
them by the thousand: a few rows and columns are hard, for optimal and satisficing ones alike.

Every instance is solvable, given at most one robot a column. The robots are interchangeable and
the floor is connected, so they can move to any set of tiles: to distinct columns of the bottom
row. Then each takes the columns around it as its own, up to those of the next robot, and paints
each of them from the top down: every tile from the one below it, moving between columns along the
bottom row.

The tiles of the robots, their first colours and the colour of each tile in the goal are random.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain floortile)
  (:requirements :strips :typing :negative-preconditions :action-costs)
  (:types robot tile color)
  (:predicates
    (above ?upper ?lower - tile)
    (right-of ?right ?left - tile)
    (robot-at ?r - robot ?t - tile)
    (robot-has ?r - robot ?c - color)
    (clear ?t - tile)
    (painted ?t - tile ?c - color)
  )
  (:functions (total-cost) - number)

  (:action change-color
    :parameters (?r - robot ?old ?new - color)
    :precondition (and (robot-has ?r ?old) (not (robot-has ?r ?new)))
    :effect (and (robot-has ?r ?new) (not (robot-has ?r ?old)) (increase (total-cost) 5))
  )

  (:action paint-up
    :parameters (?r - robot ?upper ?lower - tile ?c - color)
    :precondition (and (robot-at ?r ?lower) (robot-has ?r ?c) (above ?upper ?lower) (clear ?upper))
    :effect (and (painted ?upper ?c) (not (clear ?upper)) (increase (total-cost) 2))
  )

  (:action paint-down
    :parameters (?r - robot ?upper ?lower - tile ?c - color)
    :precondition (and (robot-at ?r ?upper) (robot-has ?r ?c) (above ?upper ?lower) (clear ?lower))
    :effect (and (painted ?lower ?c) (not (clear ?lower)) (increase (total-cost) 2))
  )

  (:action move-up
    :parameters (?r - robot ?upper ?lower - tile)
    :precondition (and (robot-at ?r ?lower) (above ?upper ?lower) (clear ?upper))
    :effect (and (robot-at ?r ?upper) (clear ?lower)
      (not (robot-at ?r ?lower)) (not (clear ?upper)) (increase (total-cost) 3))
  )

  (:action move-down
    :parameters (?r - robot ?upper ?lower - tile)
    :precondition (and (robot-at ?r ?upper) (above ?upper ?lower) (clear ?lower))
    :effect (and (robot-at ?r ?lower) (clear ?upper)
      (not (robot-at ?r ?upper)) (not (clear ?lower)) (increase (total-cost) 1))
  )

  (:action move-right
    :parameters (?r - robot ?right ?left - tile)
    :precondition (and (robot-at ?r ?left) (right-of ?right ?left) (clear ?right))
    :effect (and (robot-at ?r ?right) (clear ?left)
      (not (robot-at ?r ?left)) (not (clear ?right)) (increase (total-cost) 1))
  )

  (:action move-left
    :parameters (?r - robot ?right ?left - tile)
    :precondition (and (robot-at ?r ?right) (right-of ?right ?left) (clear ?left))
    :effect (and (robot-at ?r ?left) (clear ?right)
      (not (robot-at ?r ?right)) (not (clear ?left)) (increase (total-cost) 1))
  )
)
"""

COLORS = ["white", "black"]


def problem(dice: Dice, *, width: int, height: int, robots: int) -> Problem:
    if robots > width:
        raise UsageError(
            f"{robots} robots on a floor {width} tiles wide",
            expected="at most one robot a column",
            hint=f"set robots to {width} or less, or width to {robots} or more",
        )
    names = numbered("robot", robots)
    # Rows count from the bottom, which is row 0 and stays unpainted.
    floor = [[f"tile{row}-{column}" for column in range(width)] for row in range(height + 1)]
    tiles = [tile for row in floor for tile in row]
    places = dice.sample(tiles, robots)
    return Problem(
        objects={"robot": names, "tile": tiles, "color": COLORS},
        init=[
            *_layout(floor),
            *(("robot-at", robot, tile) for robot, tile in zip(names, places, strict=True)),
            *(("robot-has", robot, dice.choice(COLORS)) for robot in names),
            *(("clear", tile) for tile in tiles if tile not in places),
        ],
        goal=[("painted", tile, dice.choice(COLORS)) for tile in tiles[width:]],
        costs={},
    )


def _layout(floor: list[list[str]]) -> Iterator[Fact]:
    for lower, upper in pairwise(floor):
        for low, high in zip(lower, upper, strict=True):
            yield ("above", high, low)
    for row in floor:
        for left, right in pairwise(row):
            yield ("right-of", right, left)


DOMAIN = BuiltinDomain(
    name="floortile",
    summary="paint a floor without walling in the robots that do it",
    dead_ends=True,
    invertible=False,
    parameters=(
        Parameter("width", 2, 1, 50, "tiles from left to right"),
        Parameter("height", 2, 1, 50, "rows to paint; one more at the bottom stays as it is"),
        Parameter("robots", 1, 1, 50, "number of robots, at most the width"),
    ),
    pddl=PDDL,
    problem=problem,
)
