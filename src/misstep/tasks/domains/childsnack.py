"""Childsnack: make sandwiches in a kitchen, carry them on trays, serve the waiting children.

Some children must not eat gluten. There is bread and filling for exactly one sandwich a child,
and the gluten-free part of it is exactly enough for those children; so spending any of it
otherwise, or serving a child twice, is a dead end, and no action but moving a tray can be undone.
Every instance is solvable: make the gluten-free sandwiches first, then the others, and carry them
out on any one tray. The sandwiches to choose names from are a third more than the children, and
all look the same, which makes search blow up after a handful of children.

Which children need gluten-free food, where they wait, and which ingredients are gluten-free is
random.
"""

from __future__ import annotations

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Problem, numbered

PDDL = """\
(define (domain childsnack)
  (:requirements :strips :typing :negative-preconditions)
  (:types
    child ingredient sandwich tray place - object
    bread filling - ingredient
  )
  (:constants kitchen - place)
  (:predicates
    (in-kitchen ?i - ingredient)
    (gluten-free ?i - ingredient)
    (unmade ?s - sandwich)
    (made ?s - sandwich)
    (safe ?s - sandwich)
    (on-tray ?s - sandwich ?t - tray)
    (tray-at ?t - tray ?p - place)
    (waiting ?c - child ?p - place)
    (allergic ?c - child)
    (tolerant ?c - child)
    (served ?c - child)
  )

  (:action make-gluten-free-sandwich
    :parameters (?s - sandwich ?b - bread ?f - filling)
    :precondition (and (unmade ?s) (in-kitchen ?b) (in-kitchen ?f)
      (gluten-free ?b) (gluten-free ?f))
    :effect (and (made ?s) (safe ?s)
      (not (unmade ?s)) (not (in-kitchen ?b)) (not (in-kitchen ?f)))
  )

  (:action make-sandwich
    :parameters (?s - sandwich ?b - bread ?f - filling)
    :precondition (and (unmade ?s) (in-kitchen ?b) (in-kitchen ?f))
    :effect (and (made ?s) (not (unmade ?s)) (not (in-kitchen ?b)) (not (in-kitchen ?f)))
  )

  (:action put-on-tray
    :parameters (?s - sandwich ?t - tray)
    :precondition (and (made ?s) (tray-at ?t kitchen))
    :effect (and (on-tray ?s ?t) (not (made ?s)))
  )

  (:action move-tray
    :parameters (?t - tray ?from ?to - place)
    :precondition (and (tray-at ?t ?from) (not (tray-at ?t ?to)))
    :effect (and (tray-at ?t ?to) (not (tray-at ?t ?from)))
  )

  (:action serve-allergic
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (allergic ?c) (waiting ?c ?p) (tray-at ?t ?p) (on-tray ?s ?t) (safe ?s))
    :effect (and (served ?c) (not (on-tray ?s ?t)))
  )

  (:action serve-tolerant
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (tolerant ?c) (waiting ?c ?p) (tray-at ?t ?p) (on-tray ?s ?t))
    :effect (and (served ?c) (not (on-tray ?s ?t)))
  )
)
"""


def problem(dice: Dice, *, children: int, trays: int, tables: int, gluten: int) -> Problem:
    names = numbered("child", children)
    breads = numbered("bread", children)
    fillings = numbered("filling", children)
    sandwiches = numbered("sandwich", children + (children + 2) // 3)
    tray_names = numbered("tray", trays)
    table_names = numbered("table", tables)
    count = (children * gluten + 50) // 100
    allergic = set(dice.sample(names, count))
    safe = [*dice.sample(breads, count), *dice.sample(fillings, count)]
    return Problem(
        objects={
            "child": names,
            "bread": breads,
            "filling": fillings,
            "sandwich": sandwiches,
            "tray": tray_names,
            "place": table_names,
        },
        init=[
            *(("in-kitchen", ingredient) for ingredient in (*breads, *fillings)),
            *(("gluten-free", ingredient) for ingredient in safe),
            *(("unmade", sandwich) for sandwich in sandwiches),
            *(("tray-at", tray, "kitchen") for tray in tray_names),
            *(("allergic" if child in allergic else "tolerant", child) for child in names),
            *(("waiting", child, dice.choice(table_names)) for child in names),
        ],
        goal=[("served", child) for child in names],
    )


DOMAIN = BuiltinDomain(
    name="childsnack",
    summary="make sandwiches and serve them, some without gluten",
    dead_ends=True,
    invertible=False,
    parameters=(
        Parameter("children", 2, 1, 300, "number of children"),
        Parameter("trays", 1, 1, 50, "number of trays"),
        Parameter("tables", 2, 1, 50, "number of tables where children wait"),
        Parameter("gluten", 50, 0, 100, "share of the children who must not eat it, in percent"),
    ),
    pddl=PDDL,
    problem=problem,
)
