"""Woodworking: parts are sawn from boards, smoothed, and coloured by machines.

A part has to have the right wood, surface, treatment and colour. It takes its wood and its surface from the board that
it is sawn from, and boards are as long as they need to be and no longer, so a part sawn from a wrong board is a dead
end. A surface is smoothed before it is varnished, and smoothing takes all colour off; so the order of the machines
matters, and each has a price. Every instance is solvable: for each part to be sawn there is a share of a board of its
wood, and the planer, the grinder and the varnishers, in this order, make everything else of it.

Some parts exist from the start. Woods, colours, surfaces and what is asked of each part are random.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

SIZES = {"small": 1, "medium": 2, "large": 3}  # units of a board that a part takes

HEAD = """\
(define (domain woodworking)
  (:requirements :strips :typing :action-costs)
  (:types
    acolour awood woodobj machine surface treatmentstatus aboardsize apartsize - object
    highspeed-saw glazer grinder immersion-varnisher planer saw spray-varnisher - machine
    board part - woodobj
  )
  (:constants
    verysmooth smooth rough - surface
    varnished glazed untreated colourfragments - treatmentstatus
    natural - acolour
    small medium large - apartsize
  )
  (:predicates
    (unused ?p - part)
    (available ?x - woodobj)
    (surface-condition ?x - woodobj ?s - surface)
    (treatment ?p - part ?t - treatmentstatus)
    (colour ?p - part ?c - acolour)
    (wood ?x - woodobj ?w - awood)
    (boardsize ?b - board ?n - aboardsize)
    (goalsize ?p - part ?n - apartsize)
    (boardsize-successor ?less ?more - aboardsize)
    (in-highspeed-saw ?b - board ?m - highspeed-saw)
    (empty ?m - highspeed-saw)
    (has-colour ?m - machine ?c - acolour)
    (grind-treatment-change ?old ?new - treatmentstatus)
    (is-smooth ?s - surface)
  )
  (:functions
    (total-cost) - number
    (spray-varnish-cost ?p - part) - number
    (glaze-cost ?p - part) - number
    (grind-cost ?p - part) - number
    (plane-cost ?p - part) - number
  )

  (:action do-glaze
    :parameters (?p - part ?m - glazer ?new - acolour)
    :precondition (and (available ?p) (has-colour ?m ?new) (treatment ?p untreated))
    :effect (and (treatment ?p glazed) (colour ?p ?new)
      (not (treatment ?p untreated)) (not (colour ?p natural)) (increase (total-cost) (glaze-cost ?p)))
  )

  (:action do-grind
    :parameters (?p - part ?m - grinder ?s - surface ?c - acolour ?old ?new - treatmentstatus)
    :precondition (and (available ?p) (surface-condition ?p ?s) (is-smooth ?s) (colour ?p ?c) (treatment ?p ?old)
      (grind-treatment-change ?old ?new))
    :effect (and (not (surface-condition ?p ?s)) (not (treatment ?p ?old)) (not (colour ?p ?c))
      (surface-condition ?p verysmooth) (treatment ?p ?new) (colour ?p natural)
      (increase (total-cost) (grind-cost ?p)))
  )

  (:action do-plane
    :parameters (?p - part ?m - planer ?s - surface ?c - acolour ?old - treatmentstatus)
    :precondition (and (available ?p) (surface-condition ?p ?s) (colour ?p ?c) (treatment ?p ?old))
    :effect (and (not (surface-condition ?p ?s)) (not (treatment ?p ?old)) (not (colour ?p ?c))
      (surface-condition ?p smooth) (treatment ?p untreated) (colour ?p natural)
      (increase (total-cost) (plane-cost ?p)))
  )

  (:action load-highspeed-saw
    :parameters (?b - board ?m - highspeed-saw)
    :precondition (and (empty ?m) (available ?b))
    :effect (and (in-highspeed-saw ?b ?m) (not (available ?b)) (not (empty ?m)) (increase (total-cost) 30))
  )

  (:action unload-highspeed-saw
    :parameters (?b - board ?m - highspeed-saw)
    :precondition (in-highspeed-saw ?b ?m)
    :effect (and (available ?b) (empty ?m) (not (in-highspeed-saw ?b ?m)) (increase (total-cost) 10))
  )
"""

VARNISH = """
  (:action do-{way}-varnish
    :parameters (?p - part ?m - {way}-varnisher ?new - acolour ?s - surface)
    :precondition (and (available ?p) (has-colour ?m ?new) (surface-condition ?p ?s) (is-smooth ?s)
      (treatment ?p untreated))
    :effect (and (treatment ?p varnished) (colour ?p ?new)
      (not (treatment ?p untreated)) (not (colour ?p natural)) (increase (total-cost) {cost}))
  )
"""

# A part takes one, two or three units of its board; each unit is a step down among the sizes of boards.
SAW = """
  (:action {name}-{size}
    :parameters (?b - board ?p - part ?m - {machine} ?w - awood ?s - surface {sizes} - aboardsize)
    :precondition (and (unused ?p) (goalsize ?p {size}) {ready} (wood ?b ?w) (surface-condition ?b ?s)
      (boardsize ?b ?n0) {steps})
    :effect (and (available ?p) (wood ?p ?w) (surface-condition ?p ?s) (colour ?p natural) (treatment ?p untreated)
      (boardsize ?b ?n{units}) (not (unused ?p)) (not (boardsize ?b ?n0)) (increase (total-cost) {cost}))
  )
"""


def _saws() -> Iterator[str]:
    kinds = (
        ("cut-board", "highspeed-saw", "(in-highspeed-saw ?b ?m)", 10),
        ("do-saw", "saw", "(available ?b)", 30),
    )
    for name, machine, ready, cost in kinds:
        for size, units in SIZES.items():
            yield SAW.format(
                name=name,
                machine=machine,
                ready=ready,
                cost=cost,
                size=size,
                units=units,
                sizes=" ".join(f"?n{i}" for i in range(units + 1)),
                steps=" ".join(f"(boardsize-successor ?n{i + 1} ?n{i})" for i in range(units)),
            )


PDDL = (
    HEAD
    + VARNISH.format(way="immersion", cost="10")
    + VARNISH.format(way="spray", cost="(spray-varnish-cost ?p)")
    + "".join(_saws())
    + ")\n"
)
MACHINES = ("highspeed-saw", "saw", "planer", "grinder", "glazer", "immersion-varnisher")
COLOURING = ("glazer", "immersion-varnisher", "spray-varnisher")
SURFACES = ("rough", "smooth", "verysmooth")


def problem(dice: Dice, *, parts: int, woods: int, colours: int) -> Problem:
    names, kinds = numbered("part", parts), numbered("wood", woods)
    paints = numbered("colour", colours)
    machines = {kind: [f"{kind}1"] for kind in (*MACHINES, "spray-varnisher")}
    size = {part: dice.choice(list(SIZES)) for part in names}
    wood = {part: dice.choice(kinds) for part in names}
    # The first part is always to be made, so that there is something to do.
    existing = [part for part in names[1:] if dice.below(4) == 0]
    length = {
        kind: sum(
            SIZES[size[part]] for part in names if wood[part] == kind and part not in existing
        )
        for kind in kinds
    }
    boards = {f"board-{kind}": kind for kind in kinds if length[kind]}
    units = [f"s{i}" for i in range(max(length.values()) + 1)]
    init: list[Fact] = [
        *_rules(units),
        *(("has-colour", machines[kind][0], paint) for kind in COLOURING for paint in paints),
        ("empty", machines["highspeed-saw"][0]),
    ]
    for board, kind in boards.items():
        init += [
            ("available", board),
            ("wood", board, kind),
            ("boardsize", board, units[length[kind]]),
        ]
        init += [("surface-condition", board, dice.choice(SURFACES))]
    for part in names:
        init.append(("goalsize", part, size[part]))
        if part in existing:
            init += [("available", part), ("wood", part, wood[part]), ("colour", part, "natural")]
            init += [
                ("surface-condition", part, dice.choice(SURFACES)),
                ("treatment", part, "untreated"),
            ]
        else:
            init.append(("unused", part))
    return Problem(
        objects={
            **machines,
            "acolour": paints,
            "awood": kinds,
            "aboardsize": units,
            "board": list(boards),
            "part": names,
        },
        init=init,
        goal=[fact for part in names for fact in _wishes(dice, part, wood[part], paints)],
        costs={
            (f"{work}-cost", part): factor * (1 + SIZES[size[part]])
            for part in names
            for work, factor in (("spray-varnish", 3), ("glaze", 5), ("grind", 9), ("plane", 8))
        },
    )


def _rules(units: list[str]) -> Iterator[Fact]:
    yield from (("boardsize-successor", less, more) for less, more in pairwise(units))
    yield from (("is-smooth", surface) for surface in ("smooth", "verysmooth"))
    for old, new in (
        ("varnished", "colourfragments"),
        ("glazed", "untreated"),
        ("untreated", "untreated"),
        ("colourfragments", "untreated"),
    ):
        yield ("grind-treatment-change", old, new)


def _wishes(dice: Dice, part: str, wood: str, paints: list[str]) -> Iterator[Fact]:
    yield ("available", part)
    yield ("wood", part, wood)
    yield ("surface-condition", part, dice.choice(("smooth", "verysmooth")))
    if dice.below(3):
        yield ("treatment", part, dice.choice(("varnished", "glazed")))
        yield ("colour", part, dice.choice(paints))


DOMAIN = BuiltinDomain(
    name="woodworking",
    summary="saw parts from boards, smooth and colour them, each by machines with a price",
    dead_ends=True,
    invertible=False,
    parameters=(
        Parameter("parts", 3, 1, 100, "number of parts"),
        Parameter("woods", 2, 1, 20, "kinds of wood"),
        Parameter("colours", 2, 1, 20, "number of colours"),
    ),
    pddl=PDDL,
    problem=problem,
)
