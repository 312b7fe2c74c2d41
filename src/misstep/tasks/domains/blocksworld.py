"""Blocksworld: towers of blocks on a table, a hand that holds one block, four actions.

Every action can be undone, so there are no dead ends and every goal is reachable: unstack all,
then build. Some plan is easy to find; the shortest one is NP-hard. The states number 22 at 3
blocks, 125 at 4, 866 at 5, and grow faster than the factorial.

The initial towers and the goal towers are drawn uniformly from all arrangements of the blocks.
The goal names a complete arrangement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain blocksworld)
  (:requirements :strips :typing)
  (:types block)
  (:predicates
    (on ?upper ?lower - block)
    (ontable ?b - block)
    (clear ?b - block)
    (holding ?b - block)
    (handempty)
  )

  (:action pick-up
    :parameters (?b - block)
    :precondition (and (handempty) (clear ?b) (ontable ?b))
    :effect (and (holding ?b) (not (handempty)) (not (clear ?b)) (not (ontable ?b)))
  )

  (:action put-down
    :parameters (?b - block)
    :precondition (holding ?b)
    :effect (and (handempty) (clear ?b) (ontable ?b) (not (holding ?b)))
  )

  (:action stack
    :parameters (?upper ?lower - block)
    :precondition (and (holding ?upper) (clear ?lower))
    :effect (and (on ?upper ?lower) (handempty) (clear ?upper)
      (not (holding ?upper)) (not (clear ?lower)))
  )

  (:action unstack
    :parameters (?upper ?lower - block)
    :precondition (and (handempty) (clear ?upper) (on ?upper ?lower))
    :effect (and (holding ?upper) (clear ?lower)
      (not (handempty)) (not (clear ?upper)) (not (on ?upper ?lower)))
  )
)
"""

Towers = frozenset[tuple[str, ...]]  # each from the bottom up


def problem(dice: Dice, *, blocks: int) -> Problem:
    names = numbered("b", blocks)
    start = random_towers(dice, names)
    end = dice.unlike(start, lambda: random_towers(dice, names))
    init = [("handempty",), *positions(start), *sorted(("clear", t[-1]) for t in start)]
    return Problem({"block": names}, init, list(positions(end)))


def random_towers(dice: Dice, blocks: list[str], *, most: int | None = None) -> Towers:
    """A uniform draw from all arrangements, or from those of at most `most` towers.

    A shuffled row of n blocks cut at k - 1 of its n - 1 gaps gives k towers, and each arrangement
    of k towers arises from k! such rows; so there are C(n-1, k-1) n!/k! of them. Drawing k in
    that proportion first, and then the row and the cuts, makes every arrangement equally likely.
    """
    n = len(blocks)
    factorial = math.factorial(n)
    weights = [
        math.comb(n - 1, k - 1) * (factorial // math.factorial(k))
        for k in range(1, min(n, most or n) + 1)
    ]
    ticket = dice.below(sum(weights))
    towers = 0
    while ticket >= 0:
        ticket -= weights[towers]
        towers += 1
    row = dice.shuffled(blocks)
    cuts = [0, *sorted(dice.sample(range(1, n), towers - 1)), n]
    return frozenset(tuple(row[low:high]) for low, high in pairwise(cuts))


def positions(towers: Towers) -> Iterator[Fact]:
    for tower in sorted(towers):
        yield ("ontable", tower[0])
        for lower, upper in pairwise(tower):
            yield ("on", upper, lower)


DOMAIN = BuiltinDomain(
    name="blocksworld",
    summary="rebuild towers of blocks with one hand",
    dead_ends=False,
    invertible=True,
    parameters=(Parameter("blocks", 5, 2, 500, "number of blocks"),),
    pddl=PDDL,
    problem=problem,
)
