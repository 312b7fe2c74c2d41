"""Satellite: satellites that turn to directions and take images with their instruments."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    board = subject.find("on-board/2")
    power = subject.find("power-on/1")
    if board is None or power is None or not subject.has("pointing/2", "have-image/2"):
        return None
    instruments = [name for name, _ in subject.always(board)]
    aboard = subject.always_pairs(board)
    satellites = subject.kind("satellite")
    wanted: dict[str, list[str]] = {}
    for direction, mode in subject.goals_of("have-image/2"):
        wanted.setdefault(direction, []).append(mode)

    def where(scene: Scene) -> Where:
        return {**aboard, **scene.pairs("pointing/2")}

    def detail(scene: Scene, name: str) -> str:
        if name not in aboard:
            return ""
        calibrated = " calibrated" if scene.holds("calibrated/1", name) else ""
        return ("(on" + calibrated + ")") if scene.holds(power, name) else "(off)"

    def images(scene: Scene, direction: str) -> str:
        modes = wanted.get(direction, [])
        return ", ".join(
            f"{'✓' if scene.holds('have-image/2', direction, mode) else 'image'} {mode}"
            for mode in modes
        )

    return Board(
        *(subject.kind("direction"), satellites, instruments, where),
        arrange="row",
        goals=subject.goal_pairs("pointing/2"),
        detail=detail,
        longest="(off)",
        mark_place=images,
    )
