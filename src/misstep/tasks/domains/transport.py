"""Transport: vehicles of limited capacity deliver packages over roads of different lengths.

Roads go both ways, so every action can be undone and there are no dead ends. The road map is
connected and every vehicle can hold a package, so every instance is solvable. Driving costs the
length of the road, loading and unloading cost one. Finding a plan is easy, the cheapest is
NP-hard. With one vehicle of capacity c >= p, p packages and l locations there are l (l + 1)^p
states.

Locations are random points of a square. Each in turn gets a road to the nearest one before it,
which makes a tree; half as many roads again join random locations to a near one they have no road
to. Vehicles and packages start anywhere; each package has to go to another location.
"""

from __future__ import annotations

import math
from itertools import pairwise

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain transport)
  (:requirements :strips :typing :action-costs)
  (:types
    location locatable level - object
    vehicle package - locatable
  )
  (:predicates
    (road ?from ?to - location)
    (at ?x - locatable ?l - location)
    (in ?p - package ?v - vehicle)
    (space ?v - vehicle ?n - level)
    (next ?n ?more - level)
  )
  (:functions
    (road-length ?from ?to - location) - number
    (total-cost) - number
  )

  (:action drive
    :parameters (?v - vehicle ?from ?to - location)
    :precondition (and (at ?v ?from) (road ?from ?to))
    :effect (and (at ?v ?to) (not (at ?v ?from))
      (increase (total-cost) (road-length ?from ?to)))
  )

  (:action load
    :parameters (?v - vehicle ?l - location ?p - package ?less ?more - level)
    :precondition (and (at ?v ?l) (at ?p ?l) (space ?v ?more) (next ?less ?more))
    :effect (and (in ?p ?v) (space ?v ?less) (not (at ?p ?l)) (not (space ?v ?more))
      (increase (total-cost) 1))
  )

  (:action unload
    :parameters (?v - vehicle ?l - location ?p - package ?less ?more - level)
    :precondition (and (at ?v ?l) (in ?p ?v) (space ?v ?less) (next ?less ?more))
    :effect (and (at ?p ?l) (space ?v ?more) (not (in ?p ?v)) (not (space ?v ?less))
      (increase (total-cost) 1))
  )
)
"""

Point = tuple[int, int]

SIDE = 1000  # of the square
ROAD_UNIT = 20  # the side is 50 units of cost, so driving outweighs loading
NEAR = 5  # an extra road goes to one of so many nearest


def problem(dice: Dice, *, vehicles: int, packages: int, locations: int, capacity: int) -> Problem:
    places = numbered("loc", locations)
    vehicle_names = numbered("vehicle", vehicles)
    package_names = numbered("package", packages)
    levels = [f"level{i}" for i in range(capacity + 1)]
    roads = _road_map(dice, places)
    trips = [(package, *dice.sample(places, 2)) for package in package_names]
    return Problem(
        objects={
            "location": places,
            "vehicle": vehicle_names,
            "package": package_names,
            "level": levels,
        },
        init=[
            *(("next", low, high) for low, high in pairwise(levels)),
            *(("road", a, b) for _, a, b in roads),
            *(("at", vehicle, dice.choice(places)) for vehicle in vehicle_names),
            *(("space", vehicle, levels[-1]) for vehicle in vehicle_names),
            *(("at", package, origin) for package, origin, _ in trips),
        ],
        goal=[("at", package, destination) for package, _, destination in trips],
        costs=roads,
    )


def _road_map(dice: Dice, places: list[str]) -> dict[Fact, int]:
    """The length of each road, in both directions."""
    point = {place: (dice.below(SIDE), dice.below(SIDE)) for place in places}
    roads: dict[Fact, int] = {}

    def build(a: str, b: str) -> None:
        length = _length(point[a], point[b])
        roads["road-length", a, b] = roads["road-length", b, a] = length

    for i in range(1, len(places)):
        build(places[i], min(places[:i], key=lambda p: _length(point[p], point[places[i]])))
    for _ in range(len(places) // 2):
        place = dice.choice(places)
        others = [p for p in places if p != place and ("road-length", place, p) not in roads]
        others.sort(key=lambda p: _length(point[p], point[place]))
        if others:
            build(place, dice.choice(others[:NEAR]))
    return roads


def _length(a: Point, b: Point) -> int:
    # Integer arithmetic, because floating point may round differently elsewhere.
    return math.isqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) // ROAD_UNIT + 1


DOMAIN = BuiltinDomain(
    name="transport",
    summary="deliver packages with vehicles of limited capacity over roads that cost their length",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("vehicles", 1, 1, 100, "number of vehicles"),
        Parameter("packages", 2, 1, 500, "number of packages"),
        Parameter("locations", 4, 2, 500, "number of locations"),
        Parameter("capacity", 2, 1, 20, "packages that a vehicle holds"),
    ),
    pddl=PDDL,
    problem=problem,
)
