"""Reward: an agent collects all rewards on a grid with blocked cells.

What was picked up stays picked up, but every move can be walked back, so there are no dead ends. The unblocked cells
form one connected region with the agent and all rewards in it, so every instance is solvable. As in visitall the
shortest plan is a travelling salesman's path, but among few cells, and picking up takes an action of its own.

The blocked cells are what remains outside of a region that is grown from a random cell.
"""

from __future__ import annotations

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.grid import adjacency, all_cells, cell_name, grow
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem

PDDL = """\
(define (domain reward)
  (:requirements :strips :typing)
  (:types cell)
  (:predicates
    (at ?c - cell)
    (reward ?c - cell)
    (unblocked ?c - cell)
    (picked ?c - cell)
    (adjacent ?from ?to - cell)
  )

  (:action move
    :parameters (?from ?to - cell)
    :precondition (and (adjacent ?from ?to) (at ?from) (unblocked ?to))
    :effect (and (at ?to) (not (at ?from)))
  )

  (:action pick-reward
    :parameters (?c - cell)
    :precondition (and (at ?c) (reward ?c))
    :effect (and (picked ?c) (not (reward ?c)))
  )
)
"""


def problem(dice: Dice, *, width: int, height: int, rewards: int, blocked: int) -> Problem:
    count = max(2, width * height - width * height * blocked // 100)
    if rewards >= count:
        raise UsageError(
            f"{rewards} rewards on {count} unblocked cells",
            expected="fewer rewards than unblocked cells",
            hint=f"set rewards to {count - 1} or less, or make the grid larger",
        )
    region = grow(dice, width, height, count)
    start, *others = dice.shuffled(sorted(region))
    cells = all_cells(width, height)
    wanted = sorted(others[:rewards])
    return Problem(
        objects={"cell": [cell_name(cell) for cell in cells]},
        init=[
            ("at", cell_name(start)),
            *(("reward", cell_name(cell)) for cell in wanted),
            *(("unblocked", cell_name(cell)) for cell in sorted(region)),
            *adjacency("adjacent", cells),
        ],
        goal=[("picked", cell_name(cell)) for cell in wanted],
    )


DOMAIN = BuiltinDomain(
    name="reward",
    summary="collect all rewards on a grid with blocked cells",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("width", 4, 2, 100, "cells from left to right"),
        Parameter("height", 4, 1, 100, "cells from top to bottom"),
        Parameter("rewards", 3, 1, 500, "number of rewards, less than that of unblocked cells"),
        Parameter("blocked", 20, 0, 70, "share of the grid that is blocked, in percent"),
    ),
    pddl=PDDL,
    problem=problem,
)
