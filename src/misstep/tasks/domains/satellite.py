"""Satellite: satellites turn, power and calibrate their instruments, and take images of the sky.

Images stay taken and switching an instrument on loses its calibration, so not every action can be
undone; but satellites can always turn anywhere, switch off, and calibrate again, so there are no
dead ends. Every mode is supported by some instrument, each instrument has a target for its
calibration, and any satellite can turn to any direction, so every instance is solvable. Plans are
easy to find; cheap ones assign the images to satellites and order the turns, as in vehicle
routing.

Random are the instruments of each satellite (at least one), their modes and targets, where the
satellites point, and the images to take; besides, about one satellite in four has a direction to
point to at the end.
"""

from __future__ import annotations

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

PDDL = """\
(define (domain satellite)
  (:requirements :strips :typing :negative-preconditions)
  (:types satellite instrument mode direction)
  (:predicates
    (on-board ?i - instrument ?s - satellite)
    (supports ?i - instrument ?m - mode)
    (calibration-target ?i - instrument ?d - direction)
    (pointing ?s - satellite ?d - direction)
    (power-available ?s - satellite)
    (power-on ?i - instrument)
    (calibrated ?i - instrument)
    (have-image ?d - direction ?m - mode)
  )

  (:action turn-to
    :parameters (?s - satellite ?new ?old - direction)
    :precondition (and (pointing ?s ?old) (not (pointing ?s ?new)))
    :effect (and (pointing ?s ?new) (not (pointing ?s ?old)))
  )

  (:action switch-on
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on-board ?i ?s) (power-available ?s))
    :effect (and (power-on ?i) (not (calibrated ?i)) (not (power-available ?s)))
  )

  (:action switch-off
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on-board ?i ?s) (power-on ?i))
    :effect (and (power-available ?s) (not (power-on ?i)))
  )

  (:action calibrate
    :parameters (?s - satellite ?i - instrument ?d - direction)
    :precondition (and (on-board ?i ?s) (power-on ?i) (calibration-target ?i ?d) (pointing ?s ?d))
    :effect (calibrated ?i)
  )

  (:action take-image
    :parameters (?s - satellite ?d - direction ?i - instrument ?m - mode)
    :precondition (and (on-board ?i ?s) (power-on ?i) (calibrated ?i) (supports ?i ?m)
      (pointing ?s ?d))
    :effect (have-image ?d ?m)
  )
)
"""


def problem(
    dice: Dice,
    *,
    satellites: int,
    instruments: int,
    modes: int,
    directions: int,
    observations: int,
) -> Problem:
    if observations > directions * modes:
        raise UsageError(
            f"{observations} different observations of {directions} directions in {modes} modes",
            expected=f"at most {directions * modes}",
            hint="lower observations, or raise directions or modes",
        )
    satellite_names = numbered("satellite", satellites)
    mode_names = numbered("mode", modes)
    sky = numbered("direction", directions)
    owners = [s for s in satellite_names for _ in range(1 + dice.below(instruments))]
    instrument_names = numbered("instrument", len(owners))
    start = {satellite: dice.choice(sky) for satellite in satellite_names}
    return Problem(
        objects={
            "satellite": satellite_names,
            "instrument": instrument_names,
            "mode": mode_names,
            "direction": sky,
        },
        init=[
            *(("on-board", i, s) for i, s in zip(instrument_names, owners, strict=True)),
            *_supports(dice, instrument_names, mode_names),
            *(("calibration-target", i, dice.choice(sky)) for i in instrument_names),
            *(("pointing", s, d) for s, d in start.items()),
            *(("power-available", s) for s in satellite_names),
        ],
        goal=[
            *_images(dice, sky, mode_names, observations),
            *(
                ("pointing", s, dice.unlike(d, lambda: dice.choice(sky)))
                for s, d in start.items()
                if dice.below(4) == 0
            ),
        ],
    )


def _supports(dice: Dice, instruments: list[str], modes: list[str]) -> list[Fact]:
    """A random set of modes for each instrument, not empty, that together leave no mode out."""
    supported = {
        instrument: dice.sample(modes, 1 + dice.below(len(modes))) for instrument in instruments
    }
    covered = {mode for chosen in supported.values() for mode in chosen}
    for mode in modes:
        if mode not in covered:
            supported[dice.choice(instruments)].append(mode)
    return [("supports", i, mode) for i, chosen in supported.items() for mode in chosen]


def _images(dice: Dice, sky: list[str], modes: list[str], count: int) -> list[Fact]:
    pairs = [(direction, mode) for direction in sky for mode in modes]
    return [("have-image", *pair) for pair in dice.sample(pairs, count)]


DOMAIN = BuiltinDomain(
    name="satellite",
    summary="take images of the sky with the instruments of satellites",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("satellites", 1, 1, 100, "number of satellites"),
        Parameter("instruments", 2, 1, 10, "most instruments on one satellite"),
        Parameter("modes", 2, 1, 50, "number of imaging modes"),
        Parameter("directions", 4, 2, 300, "number of directions"),
        Parameter("observations", 3, 1, 5000, "images to take"),
    ),
    pddl=PDDL,
    problem=problem,
)
