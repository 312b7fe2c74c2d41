"""Ferry: places, cars, and one ferry that takes one car."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

FERRY = "ferry"


def make(subject: Subject) -> Painter | None:
    if not subject.has("at-ferry/1", "at/2", "on/1"):
        return None
    cars = subject.kind("car", "auto")
    places = [name for name in subject.objects if name not in set(cars)]

    def where(scene: Scene) -> Where:
        found = scene.pairs("at/2")
        found[FERRY] = next((place for (place,) in scene.of("at-ferry/1")), "")
        found.update({car: FERRY for (car,) in scene.of("on/1")})
        return found

    return Board(
        *(places, [FERRY], cars, where),
        arrange="row",
        goals=subject.goal_pairs("at/2"),
    )
