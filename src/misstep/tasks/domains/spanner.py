"""Spanner: a man walks down a one-way path, picks up spanners, and tightens nuts at its end.

A spanner breaks at its first use and the way back is closed, so a state is a dead end once the
usable spanners in hand, here or ahead are fewer than the loose nuts. No action can be undone.
Every instance has at least as many spanners as nuts, all of them on the path, so picking up
everything solves it. Plans are short and obvious, but delete relaxation hides why spanners have
to be carried along, which makes the domain a classic trap for heuristics and for the policies
that learn from them.

Each spanner lies at a random location of the path between the shed and the gate.
"""

from __future__ import annotations

from itertools import pairwise

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain spanner)
  (:requirements :strips :typing)
  (:types
    location locatable - object
    man nut spanner - locatable
  )
  (:predicates
    (at ?x - locatable ?l - location)
    (link ?from ?to - location)
    (carrying ?m - man ?s - spanner)
    (usable ?s - spanner)
    (loose ?n - nut)
    (tightened ?n - nut)
  )

  (:action walk
    :parameters (?m - man ?from ?to - location)
    :precondition (and (at ?m ?from) (link ?from ?to))
    :effect (and (at ?m ?to) (not (at ?m ?from)))
  )

  (:action pick-up-spanner
    :parameters (?m - man ?s - spanner ?l - location)
    :precondition (and (at ?m ?l) (at ?s ?l))
    :effect (and (carrying ?m ?s) (not (at ?s ?l)))
  )

  (:action tighten-nut
    :parameters (?m - man ?s - spanner ?n - nut ?l - location)
    :precondition (and (at ?m ?l) (at ?n ?l) (carrying ?m ?s) (usable ?s) (loose ?n))
    :effect (and (tightened ?n) (not (loose ?n)) (not (usable ?s)))
  )
)
"""


def problem(dice: Dice, *, spanners: int, nuts: int, locations: int) -> Problem:
    if spanners < nuts:
        raise UsageError(
            f"{spanners} spanners cannot tighten {nuts} nuts",
            expected="at least as many spanners as nuts",
            hint=f"set spanners to {nuts} or more",
        )
    spanner_names = numbered("spanner", spanners)
    nut_names = numbered("nut", nuts)
    inner = numbered("location", locations)
    path = ["shed", *inner, "gate"]
    return Problem(
        objects={"man": ["bob"], "spanner": spanner_names, "nut": nut_names, "location": path},
        init=[
            ("at", "bob", "shed"),
            *(("at", spanner, dice.choice(inner)) for spanner in spanner_names),
            *(("usable", spanner) for spanner in spanner_names),
            *(("at", nut, "gate") for nut in nut_names),
            *(("loose", nut) for nut in nut_names),
            *(("link", a, b) for a, b in pairwise(path)),
        ],
        goal=[("tightened", nut) for nut in nut_names],
    )


DOMAIN = BuiltinDomain(
    name="spanner",
    summary="collect single-use spanners on a one-way path to tighten nuts",
    dead_ends=True,
    invertible=False,
    parameters=(
        Parameter("spanners", 3, 1, 500, "number of spanners, at least that of the nuts"),
        Parameter("nuts", 2, 1, 500, "number of nuts"),
        Parameter("locations", 3, 1, 500, "locations between the shed and the gate"),
    ),
    pddl=PDDL,
    problem=problem,
)
