"""Policies with one planted mistake whose right description is known, for families of bugs.

A policy is a set of rules with one that is wrong; or such a wrong rule before the perfect policy, in domains where no
short list of rules is perfect and there would be other mistakes than the planted one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from misstep.policies.function import StateView
from misstep.tasks.state_view import Action
from support.planted import PERFECT, PlanningTruth, Wrong

Intended = Callable[[StateView, Action | None], bool]
"""Whether the right description fits a state and what the policy does there."""


@dataclass(frozen=True)
class Mistake:
    """A rule policy with a mistake, on tasks of one domain."""

    name: str
    domain: str
    sizes: tuple[dict[str, Any], ...]
    rules: str | Wrong  # text of a rule policy, or the wrong rule before the perfect policy
    signature: str
    intended: Intended
    words: tuple[str, ...]  # that the sentence has to contain
    pool: int = 60


def atoms(view: StateView, predicate: str) -> list[tuple[str, ...]]:
    """The arguments of the true atoms of a predicate."""
    found = []
    for fact in view.atoms:
        name, _, inside = fact.partition("(")
        if name == predicate:
            found.append(tuple(part.strip() for part in inside.rstrip(")").split(",")))
    return found


def is_open(view: StateView, thing: str) -> bool:
    """Whether a goal of the thing does not hold."""
    return any(
        goal.partition("(")[2].startswith((f"{thing},", f"{thing})")) for goal in view.open_goals
    )


# -- gripper --------------------------------------------------------------------------------------

GRIPPER = """
(define (policy gripper-mutant) (:domain gripper)
  (:rule put :parameters (?b - ball ?r - room ?g - gripper)
    :condition (goal (at ?b ?r)) :action (drop ?b ?r ?g))
  (:rule take :parameters (?b - ball ?r - room ?g - gripper)
    :condition (and (not (goal (at ?b ?r))) {take})
    :action (pick ?b ?r ?g))
  (:rule bring :parameters (?from ?to - room ?b - ball ?g - gripper)
    :condition (and (carry ?b ?g) (goal (at ?b ?to))) :action (move ?from ?to))
  (:rule fetch :parameters (?from ?to - room ?b - ball)
    :condition (and (at ?b ?to) (not (goal (at ?b ?to)))) :action (move ?from ?to)))
"""


def stops_at_the_last_ball(view: StateView, action: Action | None) -> bool:  # noqa: ARG001
    """Nothing is carried, the robot is where the last ball is."""
    (room,) = atoms(view, "at-robot")[0]
    here = [ball for ball, place in atoms(view, "at") if place == room and is_open(view, ball)]
    return len(here) == 1 == len(view.open_goals)


RESTLESS = """
  (:rule restless :parameters (?from ?to - room ?b ?o - ball)
    :condition (and (at ?b ?to) (goal (at ?b ?to)) (at ?o ?from) (not (goal (at ?o ?from)))
      (free left) (free right))
    :action (move ?from ?to))
  (:rule take"""


def moves_away_from_work(view: StateView, action: Action | None) -> bool:
    """Goes to the other room with empty hands although a ball that has to go lies here."""
    assert action is not None
    here = [ball for ball, room in atoms(view, "at") if room == action.arguments[0]]
    return not atoms(view, "carry") and any(is_open(view, ball) for ball in here)


CARELESS = """
  (:rule careless :parameters (?b ?o - ball ?r - room ?g ?h - gripper)
    :condition (and (carry ?b ?g) (carry ?o ?h) (not (= ?b ?o)) (not (goal (at ?b ?r))))
    :action (drop ?b ?r ?g))
  (:rule take"""


def drops_where_it_does_not_belong(view: StateView, action: Action | None) -> bool:
    """Drops a ball in a room that is not its goal."""
    assert action is not None
    ball, room, _ = action.arguments
    return f"at({ball}, {room})" not in view.goals


# -- blocks ---------------------------------------------------------------------------------------


def stack_at_once(view: StateView, truth: PlanningTruth) -> Any:  # noqa: ARG001
    """Stacks what it holds as soon as the block below it is clear, wherever that block stands."""
    for action in view.actions:
        if (
            action.schema == "stack"
            and f"on({action.arguments[0]}, {action.arguments[1]})" in view.goals
        ):
            return action.name
    return PERFECT


BLOCKS = """
(define (policy blocks-mutant) (:domain blocksworld)
  (:rule build :parameters (?u ?l - block)
    :condition (goal (on ?u ?l)) :action (stack ?u ?l))
  (:rule down :parameters (?b - block) :action (put-down ?b))
  (:rule take :parameters (?u ?l - block)
    :condition (and (goal (on ?u ?l)) (clear ?l)
      (not (exists (?m - block) (and (goal (on ?l ?m)) (not (on ?l ?m))))))
    :action (pick-up ?u))
  (:rule clear :parameters (?u ?l - block)
    :condition (not (goal (on ?u ?l))) :action (unstack ?u ?l))
  (:rule dig :parameters (?u ?l - block) :action (unstack ?u ?l)))
"""


def builds_on_what_is_wrong(view: StateView, action: Action | None) -> bool:
    """Stacks a block on another one that is not where it has to be."""
    assert action is not None
    return is_open(view, action.arguments[1])


# -- ferry ----------------------------------------------------------------------------------------


def sail_to_the_first(view: StateView, truth: PlanningTruth) -> Any:
    """Sails empty to the first harbour where no car has to leave, where it should sail to a car that has to."""
    best = truth.best(view)
    if "empty-ferry()" not in view.facts or best is None or not best.startswith("sail"):
        return PERFECT
    for action in view.actions:
        if action.schema == "sail" and sails_to_where_nothing_is_to_do(view, action):
            return action.name
    return PERFECT


def sails_to_where_nothing_is_to_do(view: StateView, action: Action | None) -> bool:
    """Sails empty to a harbour whose cars have all arrived."""
    assert action is not None
    there = [car for car, place in atoms(view, "at") if place == action.arguments[1]]
    return "empty-ferry()" in view.facts and not any(is_open(view, car) for car in there)


FERRY = """
(define (policy ferry-mutant) (:domain ferry)
  (:rule out :parameters (?c - car ?l - location)
    :condition (goal (at ?c ?l)) :action (debark ?c ?l))
  (:rule hasty :parameters (?from ?to - location ?c ?o - car)
    :condition (and (empty-ferry) (at ?c ?from) (not (goal (at ?c ?from))) (at ?o ?to) (goal (at ?o ?to)))
    :action (sail ?from ?to))
  (:rule in :parameters (?c - car ?l - location)
    :condition (not (goal (at ?c ?l))) :action (board ?c ?l))
  (:rule bring :parameters (?from ?to - location ?c - car)
    :condition (and (on ?c) (goal (at ?c ?to))) :action (sail ?from ?to))
  (:rule fetch :parameters (?from ?to - location ?c - car)
    :condition (and (empty-ferry) (at ?c ?to) (not (goal (at ?c ?to)))) :action (sail ?from ?to)))
"""


def sails_off_empty(view: StateView, action: Action | None) -> bool:
    """Sails with an empty ferry although a car that has to leave is where the ferry is."""
    assert action is not None
    here = [car for car, place in atoms(view, "at") if place == action.arguments[0]]
    return "empty-ferry()" in view.facts and any(is_open(view, car) for car in here)


# -- spanner --------------------------------------------------------------------------------------

SPANNER = """
(define (policy spanner-mutant) (:domain spanner)
  (:rule tighten :parameters (?m - man ?s - spanner ?n - nut ?l - location)
    :action (tighten-nut ?m ?s ?n ?l))
  (:rule first :parameters (?m - man ?s - spanner ?l - location)
    :condition (not (exists (?other - spanner) (and (carrying ?m ?other) (usable ?other))))
    :action (pick-up-spanner ?m ?s ?l))
  (:rule on :parameters (?m - man ?from ?to - location) :action (walk ?m ?from ?to)))
"""


def walks_past_a_spanner(view: StateView, action: Action | None) -> bool:
    """Leaves a place where a spanner lies."""
    assert action is not None
    spanners = view.objects["spanner"]
    return any(
        what in spanners and place == action.arguments[1] for what, place in atoms(view, "at")
    )


# -- visitall -------------------------------------------------------------------------------------


def turn_back_at_a_wall(view: StateView, truth: PlanningTruth) -> Any:  # noqa: ARG001
    """Where two ways lead on, one to a new cell and one to an old one, takes the old one."""
    seen = {cell for (cell,) in atoms(view, "visited")}
    old = [action for action in view.actions if action.arguments[1] in seen]
    return old[0].name if len(view.actions) == 2 and len(old) == 1 else PERFECT


def turns_back_at_a_wall(view: StateView, action: Action | None) -> bool:
    """Goes to a cell that it has visited although it could go to a new one."""
    assert action is not None
    seen = {cell for (cell,) in atoms(view, "visited")}
    new = [other for here, other in atoms(view, "connected") if here == action.arguments[0]]
    return action.arguments[1] in seen and any(cell not in seen for cell in new)


# -- transport ------------------------------------------------------------------------------------


def drive_past(view: StateView, truth: PlanningTruth) -> Any:
    """Drives on where it should load."""
    best = truth.best(view)
    if best is None or not best.startswith("load"):
        return PERFECT
    return next((action.name for action in view.actions if action.schema == "drive"), PERFECT)


def drives_past_a_package(view: StateView, action: Action | None) -> bool:
    """Drives off although a package that has to leave is where the vehicle is, and there is room for it."""
    return (
        any(own.schema == "load" and is_open(view, own.arguments[2]) for own in view.actions)
        and action is not None
    )


MISTAKES = [
    Mistake(
        "moves away from work",
        "gripper",
        ({"balls": 3}, {"balls": 4}),
        GRIPPER.format(take="(not (= ?b ?r))").replace("\n  (:rule take", RESTLESS),
        "move instead of pick",
        moves_away_from_work,
        ("moves instead of picking", "not at its goal"),
    ),
    Mistake(
        "never picks up the last ball",
        "gripper",
        ({"balls": 3}, {"balls": 4}),
        GRIPPER.format(take="(exists (?o - ball) (and (not (= ?o ?b)) (not (at ?o room-b))))"),
        "stops instead of pick",
        stops_at_the_last_ball,
        ("stops instead of picking", "at most one goal is open"),
    ),
    Mistake(
        "drops a ball where it does not belong",
        "gripper",
        ({"balls": 3}, {"balls": 4}),
        GRIPPER.format(take="(not (= ?b ?r))").replace("\n  (:rule take", CARELESS),
        "drop instead of move",
        drops_where_it_does_not_belong,
        ("drops instead of moving",),
    ),
    Mistake(
        "builds too early",
        "blocksworld",
        ({"blocks": 4}, {"blocks": 5}),
        BLOCKS,
        "stack instead of put-down",
        builds_on_what_is_wrong,
        ("stacks instead of putting down", "block `lower`"),
        pool=100,
    ),
    Mistake(
        "sails off empty",
        "ferry",
        ({"cars": 3, "locations": 3}, {"cars": 3, "locations": 4}),
        FERRY,
        "sail instead of board",
        sails_off_empty,
        ("sails instead of boarding", "not at its goal"),
    ),
    Mistake(
        "walks past a spanner",
        "spanner",
        ({"spanners": 3, "nuts": 3}, {"spanners": 4, "nuts": 4}),
        SPANNER,
        "walk instead of pick-up-spanner",
        walks_past_a_spanner,
        ("walks instead of picking up spanner",),
    ),
    Mistake(
        "builds on what is wrong",
        "blocksworld",
        ({"blocks": 4}, {"blocks": 5}),
        stack_at_once,
        "stack instead of put-down",
        builds_on_what_is_wrong,
        ("stacks instead of putting down", "block `lower`"),
        pool=100,
    ),
    Mistake(
        "sails to where nothing is to do",
        "ferry",
        ({"cars": 3, "locations": 3}, {"cars": 3, "locations": 4}),
        sail_to_the_first,
        "sail instead of another sail",
        sails_to_where_nothing_is_to_do,
        ("sails wrongly", "the ferry is empty", "not at its goal"),
    ),
    Mistake(
        "turns back at a wall",
        "visitall",
        ({"width": 3, "height": 3},),
        turn_back_at_a_wall,
        "move instead of another move",
        turns_back_at_a_wall,
        ("moves wrongly", "visited"),
    ),
    Mistake(
        "drives past a package",
        "transport",
        ({"locations": 4},),
        drive_past,
        "drive instead of load",
        drives_past_a_package,
        ("drives instead of loading", "it could load"),
    ),
]
__all__ = ["MISTAKES", "Mistake", "atoms"]
