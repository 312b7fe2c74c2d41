"""Scanalyzer: cars on segments of conveyors, to be analysed and to end on certain segments."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("on/2", "analyzed/1", "cycle-2/2"):
        return None
    cars = subject.kind("car")

    def where(scene: Scene) -> Where:
        return scene.pairs("on/2")

    return Board(
        *(subject.kind("segment"), [], cars, where),
        roads=[(a, b) for a, b in subject.always("cycle-2/2")],
        arrange="row",
        goals=subject.goal_pairs("on/2"),
        detail=lambda scene, car: "(analysed)" if scene.holds("analyzed/1", car) else "",
    )
