"""The sliding puzzle in PDDL: tiles at positions, one of which is empty."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.grid import SIDE, grid_of
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    at = subject.find("at/2", "tile-at/2", "at/3")
    blank = subject.find("empty/1", "blank/1")
    near = subject.find("neighbor/2", "adjacent/2", "connected/2", "next-to/2", "inc/2")
    tiles = subject.kind("tile")
    if at != "at/2" or blank is None or near is None or not tiles:
        return None
    cells = [name for name in subject.objects if name not in set(tiles)]
    grid = grid_of(subject, cells, subject.always(near))
    if grid is None:
        return None
    wanted = subject.goal_pairs(at)

    def paint(canvas: Canvas, scene: Scene) -> None:
        grid.begin(canvas, ["green: where it shall be"])
        for tile, cell in scene.of(at):
            if cell not in grid.cells:
                continue
            grid.fill(canvas, cell, "goal" if wanted.get(tile) == cell else "thing", 3)
            if scene.before is not None and not scene.before.holds(at, tile, cell):
                grid.fill(canvas, cell, "changed-line", 2)
            canvas.text(*grid.middle(cell), tile, size=14, width=SIDE - 8, bold=True)

    return paint
