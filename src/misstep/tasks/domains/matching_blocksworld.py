"""Matching blocksworld: blocks and two hands have a polarity, and a wrong hand breaks a block.

A block that is put down or stacked by a hand of the other polarity is not solid any more, and nothing can be stacked
on it. That cannot be undone, so a state is a dead end once a broken block still has to carry another one. Every
instance is solvable, because there is a hand for either polarity: unstack all with the hands that match, then build.
A policy that takes the nearest free hand looks fine until the broken block is needed, many steps later.

The initial towers and the goal towers are drawn uniformly from all arrangements, the polarities block by block.
"""

from __future__ import annotations

from itertools import chain

from misstep.tasks.domains.blocksworld import positions, random_towers
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

POLARITIES = ("positive", "negative")

HEAD = """\
(define (domain matching-blocksworld)
  (:requirements :strips :typing)
  (:types block hand)
  (:predicates
    (on ?upper ?lower - block)
    (ontable ?b - block)
    (clear ?b - block)
    (solid ?b - block)
    (holding ?h - hand ?b - block)
    (empty ?h - hand)
    (hand-positive ?h - hand)
    (hand-negative ?h - hand)
    (block-positive ?b - block)
    (block-negative ?b - block)
  )

  (:action pick-up
    :parameters (?h - hand ?b - block)
    :precondition (and (empty ?h) (clear ?b) (ontable ?b))
    :effect (and (holding ?h ?b) (not (empty ?h)) (not (clear ?b)) (not (ontable ?b)))
  )

  (:action unstack
    :parameters (?h - hand ?upper ?lower - block)
    :precondition (and (empty ?h) (clear ?upper) (on ?upper ?lower))
    :effect (and (holding ?h ?upper) (clear ?lower)
      (not (empty ?h)) (not (clear ?upper)) (not (on ?upper ?lower)))
  )
"""

# One schema for each pair of polarities: without conditional effects the breaking is an action of its own.
RELEASE = """
  (:action put-down-{hand}-{block}
    :parameters (?h - hand ?b - block)
    :precondition (and (holding ?h ?b) (hand-{hand} ?h) (block-{block} ?b))
    :effect (and (empty ?h) (clear ?b) (ontable ?b) (not (holding ?h ?b)){breaks_b})
  )

  (:action stack-{hand}-{block}
    :parameters (?h - hand ?upper ?lower - block)
    :precondition (and (holding ?h ?upper) (hand-{hand} ?h) (block-{block} ?upper)
      (clear ?lower) (solid ?lower))
    :effect (and (empty ?h) (clear ?upper) (on ?upper ?lower)
      (not (holding ?h ?upper)) (not (clear ?lower)){breaks_upper})
  )
"""


def _domain() -> str:
    releases = (
        RELEASE.format(
            hand=hand,
            block=block,
            breaks_b="" if hand == block else " (not (solid ?b))",
            breaks_upper="" if hand == block else " (not (solid ?upper))",
        )
        for hand in POLARITIES
        for block in POLARITIES
    )
    return HEAD + "".join(releases) + ")\n"


def problem(dice: Dice, *, blocks: int) -> Problem:
    names = numbered("b", blocks)
    start = random_towers(dice, names)
    end = dice.unlike(start, lambda: random_towers(dice, names))
    hands = [f"hand-{polarity}" for polarity in POLARITIES]
    init: list[Fact] = [
        *chain.from_iterable((("empty", hand), (hand, hand)) for hand in hands),
        *((f"block-{dice.choice(POLARITIES)}", block) for block in names),
        *(("solid", block) for block in names),
        *positions(start),
        *sorted(("clear", tower[-1]) for tower in start),
    ]
    return Problem({"block": names, "hand": hands}, init, list(positions(end)))


DOMAIN = BuiltinDomain(
    name="matching-blocksworld",
    summary="rebuild towers with two hands that break the blocks of the other polarity",
    dead_ends=True,
    invertible=False,
    parameters=(Parameter("blocks", 5, 2, 500, "number of blocks"),),
    pddl=_domain(),
    problem=problem,
)
