"""Elevators: slow lifts within blocks of floors and fast ones between them take passengers to their floors.

A slow lift serves the floors of one block, and neighbouring blocks share a floor; a fast lift stops at the shared
floors only. Lifts hold few passengers. Starting a slow lift is cheap, but long rides are expensive; for a fast one it
is the other way round. Everything can be undone, so there are no dead ends, and because there is a slow lift in every
block, every instance is solvable. A cheap plan has to combine the two kinds and to share the rides.

Lifts start at random floors of their own, passengers at random floors, each with another floor to go to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

HEAD = """\
(define (domain elevators)
  (:requirements :strips :typing :action-costs)
  (:types
    elevator passenger count - object
    slow-elevator fast-elevator - elevator
  )
  (:predicates
    (passenger-at ?p - passenger ?f - count)
    (boarded ?p - passenger ?e - elevator)
    (lift-at ?e - elevator ?f - count)
    (reachable-floor ?e - elevator ?f - count)
    (above ?lower ?upper - count)
    (passengers ?e - elevator ?n - count)
    (can-hold ?e - elevator ?n - count)
    (next ?n ?more - count)
  )
  (:functions
    (total-cost) - number
    (travel-slow ?lower ?upper - count) - number
    (travel-fast ?lower ?upper - count) - number
  )

  (:action board
    :parameters (?p - passenger ?e - elevator ?f ?n ?more - count)
    :precondition (and (lift-at ?e ?f) (passenger-at ?p ?f) (passengers ?e ?n) (next ?n ?more) (can-hold ?e ?more))
    :effect (and (boarded ?p ?e) (passengers ?e ?more) (not (passenger-at ?p ?f)) (not (passengers ?e ?n)))
  )

  (:action leave
    :parameters (?p - passenger ?e - elevator ?f ?n ?less - count)
    :precondition (and (lift-at ?e ?f) (boarded ?p ?e) (passengers ?e ?n) (next ?less ?n))
    :effect (and (passenger-at ?p ?f) (passengers ?e ?less) (not (boarded ?p ?e)) (not (passengers ?e ?n)))
  )
"""

MOVE = """
  (:action move-up-{speed}
    :parameters (?e - {speed}-elevator ?from ?to - count)
    :precondition (and (lift-at ?e ?from) (above ?from ?to) (reachable-floor ?e ?to))
    :effect (and (lift-at ?e ?to) (not (lift-at ?e ?from)) (increase (total-cost) (travel-{speed} ?from ?to)))
  )

  (:action move-down-{speed}
    :parameters (?e - {speed}-elevator ?from ?to - count)
    :precondition (and (lift-at ?e ?from) (above ?to ?from) (reachable-floor ?e ?to))
    :effect (and (lift-at ?e ?to) (not (lift-at ?e ?from)) (increase (total-cost) (travel-{speed} ?to ?from)))
  )
"""

PDDL = HEAD + MOVE.format(speed="slow") + MOVE.format(speed="fast") + ")\n"

SLOW_START, SLOW_FLOOR = 2, 4
FAST_START, FAST_FLOOR = 8, 1


def problem(
    dice: Dice, *, passengers: int, blocks: int, floors: int, slow: int, fast: int, capacity: int
) -> Problem:
    top = blocks * floors
    counts = [f"n{i}" for i in range(max(top, capacity) + 1)]
    served: dict[str, list[str]] = {}
    for block in range(blocks):
        for lift in range(slow):
            served[f"slow{block}-{lift}"] = counts[block * floors : (block + 1) * floors + 1]
    slow_names = list(served)
    fast_names = numbered("fast", fast)
    for lift_name in fast_names:
        served[lift_name] = counts[0 : top + 1 : floors]
    people = numbered("p", passengers)
    trips = [(person, *dice.sample(counts[: top + 1], 2)) for person in people]
    return Problem(
        objects={
            "slow-elevator": slow_names,
            "fast-elevator": fast_names,
            "passenger": people,
            "count": counts,
        },
        init=[
            *(("next", low, high) for low, high in pairwise(counts)),
            *(("above", low, high) for low, high in combinations(counts[: top + 1], 2)),
            *_lifts(dice, served, counts, capacity),
            *(("passenger-at", person, origin) for person, origin, _ in trips),
        ],
        goal=[("passenger-at", person, destination) for person, _, destination in trips],
        costs=_costs(counts[: top + 1], floors),
    )


def _lifts(
    dice: Dice, served: dict[str, list[str]], counts: list[str], capacity: int
) -> Iterator[Fact]:
    for lift, stops in served.items():
        yield from (("reachable-floor", lift, stop) for stop in stops)
        yield ("lift-at", lift, dice.choice(stops))
        yield ("passengers", lift, counts[0])
        yield from (("can-hold", lift, count) for count in counts[1 : capacity + 1])


def _costs(stops: list[str], floors: int) -> dict[Fact, int]:
    costs: dict[Fact, int] = {}
    for low, high in combinations(range(len(stops)), 2):
        way = high - low
        if low // floors == (high - 1) // floors:  # within a block
            costs["travel-slow", stops[low], stops[high]] = SLOW_START + SLOW_FLOOR * way
        if low % floors == 0 == high % floors:
            costs["travel-fast", stops[low], stops[high]] = FAST_START + FAST_FLOOR * way
    return costs


DOMAIN = BuiltinDomain(
    name="elevators",
    summary="take passengers to their floors with slow and fast lifts of limited capacity",
    dead_ends=False,
    invertible=True,
    parameters=(
        Parameter("passengers", 3, 1, 200, "number of passengers"),
        Parameter("blocks", 2, 1, 20, "blocks of floors, with slow lifts of their own"),
        Parameter("floors", 2, 1, 20, "floors of a block; one more is shared with the next"),
        Parameter("slow", 1, 1, 10, "slow lifts in each block"),
        Parameter("fast", 1, 0, 20, "fast lifts"),
        Parameter("capacity", 2, 1, 20, "passengers that a lift holds"),
    ),
    pddl=PDDL,
    problem=problem,
)
