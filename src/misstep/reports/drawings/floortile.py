"""Floor tile: robots paint the tiles of a floor in given colours."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas, width_of
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.grid import SIDE, STEPS, Grid, grid_of
from misstep.reports.drawings.layout import cells_by_steps
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("robot-at/2", "painted/2", "robot-has/2"):
        return None
    tiles = subject.kind("tile")
    steps = [(start, end, by) for name, by in STEPS.items() for end, start in subject.always(name)]
    cells = cells_by_steps(tiles, steps) if steps else None
    grid = Grid(cells) if cells else grid_of(subject, tiles, ())
    if grid is None:
        return None
    colours = subject.kind("color", "colour")
    look = {colour: f"tone{k % 8}" for k, colour in enumerate(colours)}
    wanted = subject.goal_pairs("painted/2")

    def paint(canvas: Canvas, scene: Scene) -> None:
        grid.begin(canvas, ["filled: painted", "corner: the colour it shall have"])
        painted = scene.pairs("painted/2")
        last = {} if scene.before is None else scene.before.pairs("painted/2")
        for tile in grid.cells:
            x, y = grid.corner(tile)
            if tile in painted:
                grid.fill(canvas, tile, look[painted[tile]])
                canvas.text(*grid.middle(tile), painted[tile], size=10, width=SIDE - 6)
                if scene.before is not None and tile not in last:
                    grid.fill(canvas, tile, "changed-line", 3)
            elif tile in wanted:
                canvas.path([(x, y), (x + 14, y), (x, y + 14)], look[wanted[tile]], closed=True)
        held = scene.pairs("robot-has/2")
        for robot, tile in scene.of("robot-at/2"):
            now = (("robot-at", robot, tile), ("robot-has", robot, held.get(robot, "")))
            moved = scene.before is not None and not scene.before.atoms.issuperset(now)
            grid.robot(canvas, tile, robot, moved)
            x, y = grid.corner(tile)
            canvas.rect(
                x + 4, y + SIDE - 13, SIDE - 8, 11, look.get(held.get(robot, ""), "card"), radius=2
            )
            canvas.text(x + SIDE / 2, y + SIDE - 7.5, held.get(robot, ""), size=8, width=SIDE - 9)
        _legend(canvas, colours, look, grid)

    return paint


def _legend(canvas: Canvas, colours: list[str], look: dict[str, str], grid: Grid) -> None:
    x, y = 0.0, grid.rows * SIDE + 8
    for colour in colours[:12]:
        canvas.rect(x, y, 12, 12, look[colour], radius=2)
        canvas.text(x + 17, y + 6, colour, size=10, anchor="start", width=80)
        x += 30 + min(width_of(colour, 10), 80)
    canvas.frame(0, 0, max(grid.columns * SIDE, x, 120), grid.rows * SIDE + 24)
