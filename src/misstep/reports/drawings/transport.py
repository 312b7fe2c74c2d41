"""Transport: roads between places, vehicles with room for packages."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    road = subject.find("road/2", "connected/2")
    space = subject.find("capacity/2", "space/2")
    if road is None or space is None or not subject.has("at/2", "in/2"):
        return None
    vehicles = subject.kind("vehicle", "truck")
    packages = subject.kind("package", "obj")
    places = subject.kind("location", "place")

    def where(scene: Scene) -> Where:
        return {**scene.pairs("at/2"), **scene.pairs("in/2")}

    levels = list(_levels(subject, space))

    def detail(scene: Scene, name: str) -> str:
        """How many more packages a vehicle takes."""
        room = next((own[1] for own in scene.of(space) if own[0] == name), None)
        return "" if room is None else f"({levels.index(room)})"

    board = Board(
        *(places, vehicles, packages, where),
        roads=[(a, b) for a, b in subject.always(road)],
        goals=subject.goal_pairs("at/2"),
        detail=detail,
        longest="(2)",
    )

    def paint(canvas: Canvas, scene: Scene) -> None:
        canvas.mention(*levels)  # as numbers
        board(canvas, scene)
        canvas.note("after a vehicle: how many more packages it takes")

    return paint


def _levels(subject: Subject, space: str) -> dict[str, int]:
    """The numbers that stand for free room, from none on."""
    order = subject.find("capacity-predecessor/2", "next/2")
    then = subject.always_pairs(order)
    start = [name for name in then if name not in set(then.values())]
    found: dict[str, int] = {}
    while start and start[0] not in found:
        found[start[0]] = len(found)
        start = [then[start[0]]] if start[0] in then else []
    for own in (*subject.initial.of(space), *subject.always(space)):
        found.setdefault(own[1], len(found))
    return found
