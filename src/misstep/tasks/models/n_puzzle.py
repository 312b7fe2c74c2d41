"""The n-puzzle with costs: order the tiles without ever putting one of them on a certain cell.

Moves may fail (see failures.py). Cells are numbered row by row; the goal has tile k on cell k - 1 and the
empty cell last. All orders of the tiles are initial states but the unsafe ones, also those from which
the goal cannot be reached. A label says where the empty cell goes. In the wrap variant it
leaves a row at its end and enters the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.models import failures
from misstep.tasks.models.expressions import Expression, add, all_different, all_of, eq, ne, sub
from misstep.tasks.models.model import BuiltinModel, Edge, SafetyModel, Start, Variable
from misstep.tasks.parameters import Flag, Parameter


def build(
    *, width: int, height: int, max_cost: int, tile: int, cell: int, wrap: bool, terminal: bool
) -> SafetyModel:
    failures.check(max_cost, terminal)
    size = width * height
    if size < 2:
        raise UsageError("a puzzle of one cell", expected="two cells or more")
    if tile >= size or cell >= size:
        raise UsageError(
            f"tile {tile} on cell {cell} of a puzzle of {size} cells",
            expected=f"a tile from 1 to {size - 1} and a cell from 0 to {size - 1}",
        )
    if cell == tile - 1:
        raise UsageError(
            f"tile {tile} on cell {cell} is unsafe, and it is part of the goal",
            expected="another cell",
        )
    tiles = range(1, size)

    def neighbours() -> Iterator[tuple[str, list[Expression], Expression]]:
        """Label, when the empty cell can go there, and that cell."""
        starts = [] if wrap else [ne("empty", row * width) for row in range(height)]
        ends = [] if wrap else [ne("empty", row * width + width - 1) for row in range(height)]
        yield "move_left", starts, sub("empty", 1)
        yield "move_right", ends, add("empty", 1)
        yield "move_up", [], sub("empty", width)
        yield "move_down", [], add("empty", width)

    edges: list[Edge] = []
    for label, possible, target in neighbours():
        for k in tiles:
            guard = [eq(f"tile_{k}", target), *possible]
            moved: dict[str, Expression] = {f"tile_{k}": "empty", "empty": f"tile_{k}"}
            edges += failures.attempts(label, guard, moved, f"cost_{k}", max_cost, terminal)
    places = ["empty", *(f"tile_{k}" for k in tiles)]
    return SafetyModel(
        labels=("move_left", "move_right", "move_up", "move_down"),
        variables=[
            *(Variable(place, 0, size - 1) for place in places),
            *(Variable(f"cost_{k}", 0, max_cost) for k in tiles),
        ],
        edges=edges,
        start=all_of(
            ne(f"tile_{tile}", cell),
            all_different(places),
            *(eq(f"cost_{k}", 0) for k in tiles),
        ),
        unsafe=eq(f"tile_{tile}", cell),
        goal=all_of(eq("empty", size - 1), *(eq(f"tile_{k}", k - 1) for k in tiles)),
        draw=lambda dice: _draw(places, tile, cell, dice),
    )


def _draw(places: list[str], tile: int, cell: int, dice: Dice) -> Start:
    order = dice.shuffled(range(len(places)))
    while order[tile] == cell:
        order = dice.shuffled(range(len(places)))
    start = dict(zip(places, order, strict=True))
    return start | {f"cost_{k}": 0 for k in range(1, len(places))}


MODEL = BuiltinModel(
    name="n-puzzle",
    summary="order tiles by moves that may fail, keeping one tile off one cell",
    parameters=(
        Parameter("width", 3, 1, 10, "cells in a row"),
        Parameter("height", 3, 1, 10, "cells in a column"),
        Parameter("tile", 3, 1, 99, "the tile that is kept off a cell"),
        Parameter("cell", 7, 0, 99, "that cell"),
        Flag("wrap", "the empty cell may leave a row at its end and enter the next"),
        *failures.PARAMETERS,
    ),
    build=build,
)
