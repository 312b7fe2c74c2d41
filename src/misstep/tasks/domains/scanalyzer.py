"""Scanalyzer: plants on the cars of a conveyor belt are rotated until each has passed the camera.

Cars stand on the segments of incoming and outgoing lines. A rotation swaps two cars, or turns four of them in a
circle; one rotation leads through the camera and costs three times as much. A car that was analyzed stays so, but
rotations form a group, so no state is a dead end. Every instance is solvable: any incoming line can be joined with
any outgoing one, so each car can be brought in front of the camera, and the goal is an arrangement that random
rotations have led to. Short plans are hard to find because every rotation moves several cars at once.
"""

from __future__ import annotations

from itertools import pairwise

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Parameter
from misstep.tasks.domains.pddl import Fact, Problem, numbered

HEAD = """\
(define (domain scanalyzer)
  (:requirements :strips :typing :action-costs)
  (:types segment car)
  (:predicates
    (on ?c - car ?s - segment)
    (analyzed ?c - car)
    (cycle-2 ?s1 ?s2 - segment)
    (cycle-4 ?s1 ?s2 ?s3 ?s4 - segment)
    (cycle-2-with-analysis ?s1 ?s2 - segment)
    (cycle-4-with-analysis ?s1 ?s2 ?s3 ?s4 - segment)
  )
  (:functions (total-cost) - number)
"""


def _schema(name: str, cycle: str, length: int, cost: int, more: str) -> str:
    """Each car moves to the segment of the one before it, the first one to the last segment."""
    numbers = range(1, length + 1)
    segments = " ".join(f"?s{i}" for i in numbers)
    cars = " ".join(f"?c{i}" for i in numbers)
    places = " ".join(f"(on ?c{i} ?s{i})" for i in numbers)
    gone = " ".join(f"(not (on ?c{i} ?s{i}))" for i in numbers)
    new = " ".join(f"(on ?c{i} ?s{(i - 2) % length + 1})" for i in numbers)
    return f"""
  (:action {name}
    :parameters ({segments} - segment {cars} - car)
    :precondition (and ({cycle} {segments}) {places})
    :effect (and {new}{more} {gone} (increase (total-cost) {cost}))
  )
"""


PDDL = (
    HEAD
    + _schema("rotate-2", "cycle-2", 2, 1, "")
    + _schema("rotate-4", "cycle-4", 4, 1, "")
    + _schema("analyze-2", "cycle-2-with-analysis", 2, 3, " (analyzed ?c1)")
    + _schema("analyze-4", "cycle-4-with-analysis", 4, 3, " (analyzed ?c1)")
    + ")\n"
)
MIXING = 50  # rotations for each segment that lead to the goal


def problem(dice: Dice, *, lines: int, rows: int) -> Problem:
    """`rows` is one where lines are one car deep, and cars are swapped; or two, and four turn."""
    inner = [numbered(f"in-{i}-", rows) for i in range(1, lines + 1)]
    outer = [numbered(f"out-{i}-", rows) for i in range(1, lines + 1)]
    segments = [segment for line in (*inner, *outer) for segment in line]
    cars = numbered("car", len(segments))
    cycles = [tuple(a + b[::-1]) for a in inner for b in outer]
    start = list(cars)
    end = dict(zip(segments, start, strict=True))
    for _ in range(MIXING * len(segments)):
        _turn(end, dice.choice(cycles))
    kind = f"cycle-{2 * rows}"
    camera = cycles[0]
    init: list[Fact] = [
        *((kind, *cycle) for cycle in cycles),
        (f"{kind}-with-analysis", *camera),
        *(("on", car, segment) for car, segment in zip(start, segments, strict=True)),
    ]
    goal: list[Fact] = [
        *(("analyzed", car) for car in cars),
        *sorted(("on", car, segment) for segment, car in end.items()),
    ]
    return Problem({"segment": segments, "car": cars}, init, goal, costs={})


def _turn(arrangement: dict[str, str], cycle: tuple[str, ...]) -> None:
    first = arrangement[cycle[0]]
    for to, origin in pairwise(cycle):
        arrangement[to] = arrangement[origin]
    arrangement[cycle[-1]] = first


DOMAIN = BuiltinDomain(
    name="scanalyzer",
    summary="rotate the cars of a conveyor belt until each has passed the camera",
    dead_ends=False,
    invertible=False,
    parameters=(
        Parameter("lines", 2, 1, 20, "number of incoming lines, and of outgoing ones"),
        Parameter("rows", 1, 1, 2, "cars in a line: 1, and two are swapped; 2, and four turn"),
    ),
    pddl=PDDL,
    problem=problem,
)
