"""Rovers: vehicles sample soil and rocks, take pictures, and send what they found to a lander.

Each rover has equipment of its own, a store for one sample, and ways between waypoints that it can drive. A camera has
to be calibrated before each picture. A sample that lies in a store stays analyzed when the store is emptied, and
nothing is used up but the samples themselves, which no other rover can take; so a rover that samples what it cannot
bring within sight of the lander would be a dead end, but here every rover can drive all ways in both directions.
Every instance is solvable: the ways connect all waypoints, one sees the lander, and for each goal there is a rover
that is equipped for it. Communication only needs sight of the lander, so plans differ in how few drives they need.

Ways are a random tree and some further ones; equipment, samples, objectives and goals are random, and the first rover
has all equipment.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

SAMPLE = """
  (:action sample_{kind}
    :parameters (?r - rover ?s - store ?w - waypoint)
    :precondition (and (at ?r ?w) (at_{kind}_sample ?w) (equipped_for_{kind}_analysis ?r) (store_of ?s ?r) (empty ?s))
    :effect (and (full ?s) (have_{kind}_analysis ?r ?w) (not (empty ?s)) (not (at_{kind}_sample ?w)))
  )

  (:action communicate_{kind}_data
    :parameters (?r - rover ?l - lander ?about ?from ?to - waypoint)
    :precondition (and (at ?r ?from) (at_lander ?l ?to) (have_{kind}_analysis ?r ?about) (visible ?from ?to))
    :effect (communicated_{kind}_data ?about)
  )
"""

PDDL = (
    """\
(define (domain rovers)
  (:requirements :strips :typing)
  (:types rover waypoint store camera mode lander objective)
  (:predicates
    (at ?r - rover ?w - waypoint)
    (at_lander ?l - lander ?w - waypoint)
    (can_traverse ?r - rover ?from ?to - waypoint)
    (equipped_for_soil_analysis ?r - rover)
    (equipped_for_rock_analysis ?r - rover)
    (equipped_for_imaging ?r - rover)
    (empty ?s - store)
    (full ?s - store)
    (have_rock_analysis ?r - rover ?w - waypoint)
    (have_soil_analysis ?r - rover ?w - waypoint)
    (have_image ?r - rover ?o - objective ?m - mode)
    (calibrated ?c - camera ?r - rover)
    (supports ?c - camera ?m - mode)
    (visible ?from ?to - waypoint)
    (visible_from ?o - objective ?w - waypoint)
    (communicated_soil_data ?w - waypoint)
    (communicated_rock_data ?w - waypoint)
    (communicated_image_data ?o - objective ?m - mode)
    (at_soil_sample ?w - waypoint)
    (at_rock_sample ?w - waypoint)
    (store_of ?s - store ?r - rover)
    (calibration_target ?c - camera ?o - objective)
    (on_board ?c - camera ?r - rover)
  )

  (:action navigate
    :parameters (?r - rover ?from ?to - waypoint)
    :precondition (and (can_traverse ?r ?from ?to) (at ?r ?from) (visible ?from ?to))
    :effect (and (at ?r ?to) (not (at ?r ?from)))
  )

  (:action drop
    :parameters (?r - rover ?s - store)
    :precondition (and (store_of ?s ?r) (full ?s))
    :effect (and (empty ?s) (not (full ?s)))
  )

  (:action calibrate
    :parameters (?r - rover ?c - camera ?o - objective ?w - waypoint)
    :precondition (and (equipped_for_imaging ?r) (calibration_target ?c ?o) (at ?r ?w) (visible_from ?o ?w)
      (on_board ?c ?r))
    :effect (calibrated ?c ?r)
  )

  (:action take_image
    :parameters (?r - rover ?w - waypoint ?o - objective ?c - camera ?m - mode)
    :precondition (and (calibrated ?c ?r) (on_board ?c ?r) (equipped_for_imaging ?r) (supports ?c ?m)
      (visible_from ?o ?w) (at ?r ?w))
    :effect (and (have_image ?r ?o ?m) (not (calibrated ?c ?r)))
  )

  (:action communicate_image_data
    :parameters (?r - rover ?l - lander ?o - objective ?m - mode ?from ?to - waypoint)
    :precondition (and (at ?r ?from) (at_lander ?l ?to) (have_image ?r ?o ?m) (visible ?from ?to))
    :effect (communicated_image_data ?o ?m)
  )
"""
    + SAMPLE.format(kind="soil")
    + SAMPLE.format(kind="rock")
    + ")\n"
)

MODES = ["colour", "high_res", "low_res"]
EQUIPMENT = ("equipped_for_soil_analysis", "equipped_for_rock_analysis", "equipped_for_imaging")


def problem(dice: Dice, *, rovers: int, waypoints: int, objectives: int, goals: int) -> Problem:
    names, stores = numbered("rover", rovers), numbered("store", rovers)
    cameras, points = numbered("camera", rovers), numbered("waypoint", waypoints)
    targets = numbered("objective", objectives)
    ways = _ways(dice, points)
    samples = [(kind, point) for kind in ("soil", "rock") for point in points if dice.below(2)]
    pictures = [(target, mode) for target in targets for mode in MODES]
    wishes: list[Fact] = [
        *((f"communicated_{kind}_data", point) for kind, point in samples),
        *(("communicated_image_data", target, mode) for target, mode in pictures),
    ]
    init: list[Fact] = [
        *(("visible", a, b) for a, b in ways),
        *(("can_traverse", rover, a, b) for rover in names for a, b in ways),
        ("at_lander", "lander", dice.choice(points)),
        *((f"at_{kind}_sample", point) for kind, point in samples),
        *(fact for target in targets for fact in _sights(dice, target, points)),
    ]
    for rover, store, camera in zip(names, stores, cameras, strict=True):
        # The first rover can do everything, so that every goal can be reached.
        tools = EQUIPMENT if rover == names[0] else dice.sample(EQUIPMENT, 1 + dice.below(3))
        modes = MODES if rover == names[0] else dice.sample(MODES, 1 + dice.below(3))
        init += [("at", rover, dice.choice(points)), ("store_of", store, rover), ("empty", store)]
        init += [(tool, rover) for tool in EQUIPMENT if tool in tools]
        init += [("on_board", camera, rover), ("calibration_target", camera, dice.choice(targets))]
        init += [("supports", camera, mode) for mode in MODES if mode in modes]
    objects = {
        "rover": names,
        "waypoint": points,
        "store": stores,
        "camera": cameras,
        "mode": MODES,
        "lander": ["lander"],
        "objective": targets,
    }
    return Problem(objects, init, sorted(dice.sample(wishes, min(goals, len(wishes)))))


def _ways(dice: Dice, points: list[str]) -> list[tuple[str, str]]:
    """Pairs of waypoints in both directions: a tree, and half as many again where there is room."""
    pairs: set[tuple[str, str]] = set()
    for i in range(1, len(points)):
        pairs.add((points[dice.below(i)], points[i]))
    for _ in range(len(points) // 2):
        a, b = sorted(dice.sample(range(len(points)), 2))
        pairs.add((points[a], points[b]))
    return sorted({pair for a, b in pairs for pair in ((a, b), (b, a))})


def _sights(dice: Dice, target: str, points: list[str]) -> Iterator[Fact]:
    for point in dice.sample(points, 1 + dice.below(len(points))):
        yield ("visible_from", target, point)


DOMAIN = BuiltinDomain(
    name="rovers",
    summary="sample, photograph and report to a lander with several rovers",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("rovers", 1, 1, 50, "number of rovers, each with a store and a camera"),
        Parameter("waypoints", 4, 2, 200, "number of waypoints"),
        Parameter("objectives", 1, 1, 100, "number of things to photograph"),
        Parameter("goals", 3, 1, 500, "number of goals, fewer if there is not so much to do"),
    ),
    pddl=PDDL,
    problem=problem,
)
