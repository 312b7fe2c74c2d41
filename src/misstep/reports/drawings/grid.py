"""Cells in rows and columns: what the grid domains share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.layout import Cell, are_neighbours, cells_by_name, cells_by_steps
from misstep.reports.drawings.subject import Subject

SIDE = 48.0
MOST_CELLS = 1200

# By how much a step goes, for predicates `up(to, from)` and their like. Rows count downwards.
STEPS: Mapping[str, Cell] = {
    "up/2": (0, -1),
    "above/2": (0, -1),
    "down/2": (0, 1),
    "below/2": (0, 1),
    "left/2": (-1, 0),
    "left-of/2": (-1, 0),
    "right/2": (1, 0),
    "right-of/2": (1, 0),
}
WAYS: Mapping[str, Cell] = {
    "up": (0, -1),
    "down": (0, 1),
    "left": (-1, 0),
    "right": (1, 0),
    "dir-up": (0, -1),
    "dir-down": (0, 1),
    "dir-left": (-1, 0),
    "dir-right": (1, 0),
    "north": (0, -1),
    "south": (0, 1),
    "west": (-1, 0),
    "east": (1, 0),
}


@dataclass
class Grid:
    """Where each cell lies."""

    cells: dict[str, Cell]

    def __post_init__(self) -> None:
        columns, rows = zip(*self.cells.values(), strict=True)
        self.left, self.top = min(columns), min(rows)
        self.columns, self.rows = max(columns) - self.left + 1, max(rows) - self.top + 1

    def corner(self, name: str) -> tuple[float, float]:
        x, y = self.cells[name]
        return (x - self.left) * SIDE, (y - self.top) * SIDE

    def middle(self, name: str) -> tuple[float, float]:
        x, y = self.corner(name)
        return x + SIDE / 2, y + SIDE / 2

    def begin(self, canvas: Canvas, legend: Sequence[str] = ()) -> None:
        """The frame, the walls where there is no cell, and the cells; then a line that explains the marks."""
        width, height = self.columns * SIDE, self.rows * SIDE
        canvas.frame(0, 0, max(width, 120), height)
        canvas.rect(0, 0, width, height, "wall", radius=2)
        for name in self.cells:
            x, y = self.corner(name)
            canvas.rect(x, y, SIDE, SIDE, "card", radius=0, title=name)
        if legend:
            canvas.note("; ".join(legend))

    def fill(self, canvas: Canvas, name: str, look: str, inset: float = 1) -> None:
        x, y = self.corner(name)
        canvas.rect(x + inset, y + inset, SIDE - 2 * inset, SIDE - 2 * inset, look, radius=3)

    def robot(self, canvas: Canvas, name: str, robot: str, moved: bool = False) -> None:
        x, y = self.middle(name)
        canvas.circle(x, y, SIDE * 0.32, "carrier-full", title=f"{robot} at {name}")
        if moved:
            canvas.circle(x, y, SIDE * 0.32 + 3, "changed-line")
        if robot != "robot":
            canvas.mention(robot)
        for dx in (-5, 5):  # eyes
            canvas.circle(x + dx, y - 3, 2.6, "ink")


def grid_of(
    subject: Subject, cells: Sequence[str], pairs: Iterable[tuple[str, ...]]
) -> Grid | None:
    """The grid of these cells by their names if the pairs of neighbours agree, else by their steps."""
    if not 0 < len(cells) <= MOST_CELLS:
        return None
    neighbours = list(pairs)
    named = cells_by_name(cells)
    if named is not None and are_neighbours(named, neighbours):
        turned = _turned(named, neighbours)
        columns = {x for x, _ in turned.values()}
        if len(columns) * len({y for _, y in turned.values()}) <= 4 * MOST_CELLS:
            return Grid(turned)
    steps = [(start, end, by) for name, by in STEPS.items() for end, start in subject.always(name)]
    steps += [
        (own[0], own[1], WAYS[own[2]]) for own in neighbours if len(own) == 3 and own[2] in WAYS
    ]
    found = cells_by_steps(cells, steps) if steps else None
    return None if found is None else Grid(found)


def _turned(cells: dict[str, Cell], pairs: list[tuple[str, ...]]) -> dict[str, Cell]:
    """The same with rows downwards, if pairs with directions say that they are the other way round."""
    votes = [0, 0]  # as named, with columns and rows exchanged
    for a, b, *way in pairs:
        if way and way[0] in WAYS:
            (ax, ay), (bx, by) = cells[a], cells[b]
            votes[0] += (bx - ax, by - ay) == WAYS[way[0]]
            votes[1] += (by - ay, bx - ax) == WAYS[way[0]]
    return cells if votes[0] >= votes[1] else {name: (y, x) for name, (x, y) in cells.items()}


__all__ = ["SIDE", "Grid", "grid_of"]
