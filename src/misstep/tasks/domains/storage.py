"""Storage: hoists carry crates from a container into the areas of a depot.

A hoist and a crate take an area each, and the way into the depot leads through its own areas, so crates near the door
block those behind. Everything can be undone, so there are no dead ends. Every instance is solvable, given that the
depot has an area for each crate: hoists leave in the order of their distance to the door, and then one of them fills
the depot from the areas that are farthest from it. The states grow with the ways to place crates and hoists on areas.

The depot is a grid with its door at one corner; the hoists start on random areas of it, and the crates fill the
container, whose areas all open to the loading area.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain storage)
  (:requirements :strips :typing)
  (:types
    hoist place area crate - object
    depot container - place
    storearea transitarea - area
  )
  (:predicates
    (clear ?a - storearea)
    (in ?x - object ?p - place)
    (available ?h - hoist)
    (lifting ?h - hoist ?c - crate)
    (at ?h - hoist ?a - area)
    (on ?c - crate ?a - storearea)
    (connected ?a ?b - area)
  )

  (:action lift
    :parameters (?h - hoist ?c - crate ?from - storearea ?stand - area ?p - place)
    :precondition (and (connected ?from ?stand) (at ?h ?stand) (available ?h) (on ?c ?from) (in ?from ?p))
    :effect (and (lifting ?h ?c) (clear ?from)
      (not (on ?c ?from)) (not (available ?h)) (not (in ?c ?p)))
  )

  (:action drop
    :parameters (?h - hoist ?c - crate ?to - storearea ?stand - area ?p - place)
    :precondition (and (connected ?to ?stand) (at ?h ?stand) (lifting ?h ?c) (clear ?to) (in ?to ?p))
    :effect (and (available ?h) (on ?c ?to) (in ?c ?p)
      (not (lifting ?h ?c)) (not (clear ?to)))
  )

  (:action move
    :parameters (?h - hoist ?from ?to - storearea)
    :precondition (and (at ?h ?from) (clear ?to) (connected ?from ?to))
    :effect (and (at ?h ?to) (clear ?from) (not (at ?h ?from)) (not (clear ?to)))
  )

  (:action go-out
    :parameters (?h - hoist ?from - storearea ?to - transitarea)
    :precondition (and (at ?h ?from) (connected ?from ?to))
    :effect (and (at ?h ?to) (clear ?from) (not (at ?h ?from)))
  )

  (:action go-in
    :parameters (?h - hoist ?from - transitarea ?to - storearea)
    :precondition (and (at ?h ?from) (connected ?from ?to) (clear ?to))
    :effect (and (at ?h ?to) (not (at ?h ?from)) (not (clear ?to)))
  )
)
"""


def problem(dice: Dice, *, crates: int, hoists: int, width: int, height: int) -> Problem:
    areas = [[f"depot-{x}-{y}" for x in range(width)] for y in range(height)]
    inside = [area for row in areas for area in row]
    for name, count in (("crates", crates), ("hoists", hoists)):
        if count > len(inside):
            raise UsageError(
                f"{count} {name} in a depot of {len(inside)} areas",
                expected=f"at most as many {name} as areas",
                hint=f"set {name} to {len(inside)} or less, or make the depot larger",
            )
    outside = numbered("container-", crates)
    names, lifts = numbered("crate", crates), numbered("hoist", hoists)
    places = dice.sample(inside, hoists)
    return Problem(
        objects={
            "hoist": lifts,
            "depot": ["depot"],
            "container": ["container"],
            "storearea": [*inside, *outside],
            "transitarea": ["loading"],
            "crate": names,
        },
        init=[
            *_ways(areas),
            *(fact for area in outside for fact in _both(area, "loading")),
            *_both(inside[0], "loading"),
            *(("in", area, "depot") for area in inside),
            *(("in", area, "container") for area in outside),
            *(("at", hoist, area) for hoist, area in zip(lifts, places, strict=True)),
            *(("available", hoist) for hoist in lifts),
            *(("clear", area) for area in inside if area not in places),
            *(("on", crate, area) for crate, area in zip(names, outside, strict=True)),
            *(("in", crate, "container") for crate in names),
        ],
        goal=[("in", crate, "depot") for crate in names],
    )


def _both(a: str, b: str) -> Iterator[Fact]:
    yield ("connected", a, b)
    yield ("connected", b, a)


def _ways(areas: list[list[str]]) -> Iterator[Fact]:
    for y, row in enumerate(areas):
        for x, area in enumerate(row):
            if x + 1 < len(row):
                yield from _both(area, row[x + 1])
            if y + 1 < len(areas):
                yield from _both(area, areas[y + 1][x])


DOMAIN = BuiltinDomain(
    name="storage",
    summary="carry crates from a container into the narrow areas of a depot",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("crates", 3, 1, 100, "number of crates, at most one for each area of the depot"),
        Parameter("hoists", 1, 1, 100, "number of hoists, at most one for each area of the depot"),
        Parameter("width", 3, 1, 50, "areas of the depot from left to right"),
        Parameter("height", 2, 1, 50, "areas of the depot from top to bottom"),
    ),
    pddl=PDDL,
    problem=problem,
)
