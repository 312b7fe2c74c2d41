"""The n-puzzle as a model: tiles on cells, what moving them has cost, and the cell that a tile must not come to."""

from __future__ import annotations

from math import isqrt

from misstep.errors import MisstepError
from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject
from misstep.tasks.jani.task import JaniTask

SIDE = 54.0
MOST_TRIED = 400


def make(subject: Subject) -> Painter | None:
    tiles = subject.numbered("tile_")
    cells = len(tiles) + 1
    if not tiles or not subject.has_variables("empty") or not isinstance(subject.task, JaniTask):
        return None
    goal = _goal(subject, tiles)
    width = _width(subject.task, goal, cells)
    forbidden = _forbidden(subject.task, goal, tiles) if cells**2 <= MOST_TRIED else []

    def corner(cell: int) -> tuple[float, float]:
        return (cell % width) * SIDE, (cell // width) * SIDE

    def paint(canvas: Canvas, scene: Scene) -> None:
        rows = -(-cells // width)
        canvas.frame(0, 0, max(width * SIDE, 150), rows * SIDE)
        for cell in range(cells):
            canvas.rect(*corner(cell), SIDE, SIDE, "box", radius=0, title=f"cell {cell}")
        for k, tile in enumerate(tiles):
            cell = int(scene.number(tile))
            x, y = corner(cell)
            is_bad = (k, cell) in forbidden
            look = "bad" if is_bad else "goal" if goal[tile] == cell else "thing"
            canvas.rect(x + 3, y + 3, SIDE - 6, SIDE - 6, look, title=f"{tile} on cell {cell}")
            if scene.changed(tile):
                canvas.rect(x + 2, y + 2, SIDE - 4, SIDE - 4, "changed-line")
            number = tile.removeprefix("tile_")
            canvas.text(x + SIDE / 2, y + SIDE / 2, number, size=18, bold=True)
            cost = int(scene.number(f"cost_{number}"))
            if cost:
                canvas.text(x + SIDE - 7, y + 12, f"✗{cost}", size=9, anchor="end", look="bad-full")
        for tile_number, cell in forbidden[:4]:
            x, y = corner(cell)
            canvas.text(
                x + 6,
                y + SIDE - 10,
                f"not {tile_number + 1}",
                size=9,
                anchor="start",
                look="bad-full",
            )
        canvas.note("green: where it shall be; ✗: moves that failed")

    return paint


def _goal(subject: Subject, tiles: list[str]) -> dict[str, int]:
    """Tile k on cell k - 1, and the empty cell last."""
    places = {tile: k for k, tile in enumerate(tiles)}
    return {
        own.name: places.get(own.name, len(tiles) if own.name == "empty" else 0)
        for own in subject.variables
    }


def _width(task: JaniTask, goal: dict[str, int], cells: int) -> int:
    """How far a move up brings the empty cell; else as for a square."""
    square = max(1, isqrt(cells))
    try:
        for label in ("move_up", "move_down"):
            # The goal itself is never left: ask the model alone.
            for state in task.outcomes(tuple(goal.values()), label, raw=True):
                step = abs(
                    int(dict(zip(task.variable_names, state, strict=True))["empty"]) - goal["empty"]
                )
                if step:
                    return step
    except MisstepError:
        pass  # another model with such variables
    return square


def _forbidden(task: JaniTask, goal: dict[str, int], tiles: list[str]) -> list[tuple[int, int]]:
    """Which tile on which cell makes a state unsafe, by trying; the others stand differently each time."""
    names = [*tiles, "empty"]
    found = []
    for k, tile in enumerate(tiles):
        for other in names:
            if other == tile:
                continue
            cell = goal[other]
            swapped = {**goal, tile: cell, other: goal[tile]}
            third = next((name for name in names if name not in (tile, other)), None)
            turned = (
                swapped if third is None else {**swapped, other: goal[third], third: goal[tile]}
            )
            if _is_unsafe(task, swapped) and _is_unsafe(task, turned):
                found.append((k, cell))
    return found


def _is_unsafe(task: JaniTask, values: dict[str, int]) -> bool:
    try:
        return task.is_unsafe(tuple(values.values()))
    except (MisstepError, ValueError):
        return False


__all__ = ["make"]
