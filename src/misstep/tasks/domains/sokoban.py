"""Sokoban: a robot pushes boxes to the goal cells of a maze.

Boxes can be pushed but not pulled, so a box in a corner is there for ever, and most wrong pushes are dead ends. Every
instance is solvable by construction: it is what random pulls make of a solved one, and a pull is a push in reverse.
Finding any plan is PSPACE-complete in general.

The maze is a region that is grown from a random cell; the goal cells are random, the robot walks between its pulls.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.grid import Cell, cell_name, grow
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain sokoban)
  (:requirements :strips :typing)
  (:types location direction box)
  (:predicates
    (at-robot ?l - location)
    (at ?b - box ?l - location)
    (adjacent ?from ?to - location ?d - direction)
    (clear ?l - location)
  )

  (:action move
    :parameters (?from ?to - location ?d - direction)
    :precondition (and (at-robot ?from) (adjacent ?from ?to ?d) (clear ?to))
    :effect (and (at-robot ?to) (not (at-robot ?from)))
  )

  (:action push
    :parameters (?from ?to ?beyond - location ?d - direction ?b - box)
    :precondition (and (at-robot ?from) (at ?b ?to) (clear ?beyond)
      (adjacent ?from ?to ?d) (adjacent ?to ?beyond ?d))
    :effect (and (at-robot ?to) (at ?b ?beyond) (clear ?to)
      (not (at-robot ?from)) (not (at ?b ?to)) (not (clear ?beyond)))
  )
)
"""

DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
PULLS = 20  # for each box
TRIES = 2_000


def problem(dice: Dice, *, width: int, height: int, boxes: int, walls: int) -> Problem:
    count = max(4, width * height - width * height * walls // 100)
    if boxes * 4 > count:
        raise UsageError(
            f"{boxes} boxes on {count} cells",
            expected="at least four cells a box",
            hint=f"set boxes to {count // 4} or less, or make the maze larger",
        )
    for _ in range(TRIES):
        maze = grow(dice, width, height, count)
        goal, *free = _split(dice.shuffled(sorted(maze)), boxes)
        end = _pulled(dice, maze, goal, free[0][0])
        if end is not None and set(end[0]) != set(goal):
            return _problem(maze, end, goal)
    raise UsageError(
        f"no maze of {width} times {height} cells with {boxes} boxes can be played",
        expected="a maze in which a box can be pushed",
        hint="make the maze larger, or set walls or boxes lower",
    )


def _split(cells: list[Cell], boxes: int) -> tuple[list[Cell], list[Cell]]:
    return sorted(cells[:boxes]), cells[boxes:]


def _pulled(
    dice: Dice, maze: set[Cell], goal: list[Cell], robot: Cell
) -> tuple[list[Cell], Cell] | None:
    """Boxes and robot after random pulls, or None if none is possible."""
    boxes, moved = list(goal), False
    for _ in range(PULLS * len(boxes)):
        pulls = list(_pulls(maze, boxes, robot))
        if not pulls:
            break
        box, place, robot = dice.choice(pulls)
        boxes[box], moved = place, True
    return (boxes, robot) if moved else None


def _pulls(maze: set[Cell], boxes: list[Cell], robot: Cell) -> Iterator[tuple[int, Cell, Cell]]:
    """Which box can be pulled, where to, and where the robot is then."""
    free = maze - set(boxes)
    reached, waiting = {robot}, [robot]
    while waiting:
        x, y = waiting.pop()
        for dx, dy in DIRECTIONS.values():
            cell = (x + dx, y + dy)
            if cell in free and cell not in reached:
                reached.add(cell)
                waiting.append(cell)
    for number, (x, y) in enumerate(boxes):
        for dx, dy in DIRECTIONS.values():
            beside, beyond = (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)
            if beside in reached and beyond in free:
                yield number, beside, beyond


def _problem(maze: set[Cell], end: tuple[list[Cell], Cell], goal: list[Cell]) -> Problem:
    boxes, robot = end
    cells, names = sorted(maze), numbered("box", len(boxes))
    init: list[Fact] = [
        ("at-robot", cell_name(robot)),
        *(("at", name, cell_name(box)) for name, box in zip(names, boxes, strict=True)),
        *(("clear", cell_name(cell)) for cell in cells if cell not in boxes),
    ]
    for x, y in cells:
        for direction, (dx, dy) in DIRECTIONS.items():
            if (x + dx, y + dy) in maze:
                init.append(("adjacent", cell_name((x, y)), cell_name((x + dx, y + dy)), direction))
    return Problem(
        objects={
            "location": [cell_name(cell) for cell in cells],
            "direction": list(DIRECTIONS),
            "box": names,
        },
        init=init,
        goal=[("at", name, cell_name(cell)) for name, cell in zip(names, goal, strict=True)],
    )


DOMAIN = BuiltinDomain(
    name="sokoban",
    summary="push boxes to their goal cells without getting them stuck",
    dead_ends=True,
    invertible=False,
    parameters=(
        Parameter("width", 4, 3, 50, "cells from left to right"),
        Parameter("height", 4, 3, 50, "cells from top to bottom"),
        Parameter("boxes", 1, 1, 50, "number of boxes, at most one for four cells"),
        Parameter("walls", 0, 0, 50, "share of the grid that is wall, in percent"),
    ),
    pddl=PDDL,
    problem=problem,
)
