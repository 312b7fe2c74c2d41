"""Transport: roads between places, vehicles with room for packages."""

from __future__ import annotations

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

    def detail(scene: Scene, name: str) -> str:
        """How much more a vehicle takes."""
        return next((f"({room})" for own, room in scene.of(space) if own == name), "")

    return Board(
        *(places, vehicles, packages, where),
        roads=[(a, b) for a, b in subject.always(road)],
        goals=subject.goal_pairs("at/2"),
        detail=detail,
    )
