"""Visit all: a robot on a grid, the cells that it has seen and those that it has to see."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.grid import SIDE, grid_of
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    near = subject.find("connected/2", "conn/2")
    robot = subject.find("at-robot/1", "at-robby/1")
    if near is None or robot is None or not subject.has("visited/1"):
        return None
    grid = grid_of(subject, list(subject.objects), subject.always(near))
    if grid is None:
        return None
    wanted = {cell for (cell,) in subject.goals_of("visited/1")}

    def paint(canvas: Canvas, scene: Scene) -> None:
        grid.begin(canvas, ["blue: visited", "ring: still to visit"])
        for (cell,) in scene.of("visited/1"):
            grid.fill(canvas, cell, "thing")
            if scene.before is not None and not scene.before.holds("visited/1", cell):
                grid.fill(canvas, cell, "changed-line", 2)
        for cell in grid.cells:
            if cell in wanted and not scene.holds("visited/1", cell):
                canvas.circle(*grid.middle(cell), SIDE * 0.16, "goal-line")
        for (cell,) in scene.of(robot):
            moved = scene.before is not None and not scene.before.holds(robot, cell)
            grid.robot(canvas, cell, "robot", moved)

    return paint
