"""Sokoban: a robot pushes boxes onto goals between walls."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.grid import SIDE, WAYS, grid_of
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    near = subject.find("adjacent/3", "move-dir/3")
    robot = subject.find("at-robot/1")
    if near is None or not subject.has("at/2", "clear/1"):
        return None
    boxes = subject.kind("box", "stone", "crate")
    players = subject.kind("player") if robot is None else []
    steps = subject.always(near)
    used = {cell for a, b, _ in steps for cell in (a, b)}
    cells = [name for name in subject.objects if name in used]
    grid = grid_of(subject, cells, steps)
    if grid is None or not boxes:
        return None
    ways = {name for name in subject.objects if name in WAYS}
    walls = [name for name in subject.kind("location") if name not in used]
    goal_of = subject.goal_pairs("at/2")
    goals = {*goal_of.values(), *(own for (own,) in subject.always("is-goal/1"))}
    one_each = len(goal_of) > 1

    def paint(canvas: Canvas, scene: Scene) -> None:
        grid.begin(canvas, ["filled: walls", "green ring: a goal", "green box: on its goal"])
        canvas.mention(*ways, *walls)
        for cell in sorted(goals & grid.cells.keys()):
            canvas.circle(*grid.middle(cell), SIDE * 0.4, "goal-line", title=f"goal {cell}")
        at = {name: cell for name, cell in scene.of("at/2") if cell in grid.cells}
        last = {} if scene.before is None else scene.before.pairs("at/2")
        for box in boxes:
            if box in at:
                done = goal_of.get(box) == at[box] or (box not in goal_of and at[box] in goals)
                grid.fill(canvas, at[box], "goal" if done else "thing", 8)
                if last and last.get(box) != at[box]:
                    grid.fill(canvas, at[box], "changed-line", 6)
                canvas.text(*grid.middle(at[box]), box, size=10, width=SIDE - 18)
        if one_each:
            for box, cell in goal_of.items():
                x, y = grid.corner(cell)
                canvas.text(x + 2, y + 7, box, size=8, anchor="start", width=SIDE, look="faint")
        for (cell,) in scene.of(robot):
            moved = scene.before is not None and not scene.before.holds(robot, cell)
            grid.robot(canvas, cell, "robot", moved)
        for player in players:
            if player in at:
                grid.robot(
                    canvas, at[player], player, bool(last) and last.get(player) != at[player]
                )

    return paint
