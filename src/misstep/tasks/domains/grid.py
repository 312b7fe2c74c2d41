"""Cells of a grid: their names, their neighbours, and connected regions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.pddl import Fact

Cell = tuple[int, int]


def all_cells(width: int, height: int) -> list[Cell]:
    return [(x, y) for x in range(width) for y in range(height)]


def cell_name(cell: Cell) -> str:
    return f"x{cell[0]}-y{cell[1]}"


def neighbours(cell: Cell) -> tuple[Cell, ...]:
    x, y = cell
    return (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)


def adjacency(predicate: str, cells: Collection[Cell]) -> Iterator[Fact]:
    """One fact for each pair of neighbours among the cells, in both directions."""
    members = set(cells)
    for cell in sorted(members):
        for neighbour in neighbours(cell):
            if neighbour in members:
                yield (predicate, cell_name(cell), cell_name(neighbour))


def grow(dice: Dice, width: int, height: int, count: int) -> set[Cell]:
    """A connected region of so many cells, grown from a random one by one random neighbour at a time."""
    region: set[Cell] = set()
    border: list[Cell] = [(dice.below(width), dice.below(height))]
    while len(region) < count:
        # Swapping the drawn cell to the end keeps its removal constant-time.
        i = dice.below(len(border))
        border[i], border[-1] = border[-1], border[i]
        cell = border.pop()
        if cell in region:
            continue
        region.add(cell)
        border.extend(
            (x, y)
            for x, y in neighbours(cell)
            if 0 <= x < width and 0 <= y < height and (x, y) not in region
        )
    return region
