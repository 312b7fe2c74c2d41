"""Blocks world as a model: one tower to build, moves that may fail, and a table that must not be crowded."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject
from misstep.reports.drawings.towers import Towers, towers_of


def make(subject: Subject) -> Painter | None:
    rows = subject.numbered("on_")
    count = len(rows)
    if not rows or not subject.has_variables("hand_empty", "table", "clear_0", "cost_0"):
        return None
    blocks = [f"b{k}" for k in range(count)]
    towers = Towers(blocks, extra=20)

    def under(scene: Scene) -> dict[str, str]:
        """What each block lies on; the numbers after the blocks are the table and the hand."""
        spots = [*blocks, "", "the hand"]
        return {blocks[k]: spots[int(scene.number(row)) % len(spots)] for k, row in enumerate(rows)}

    def paint(canvas: Canvas, scene: Scene) -> None:
        where = under(scene)
        held = [block for block in blocks if where[block] == "the hand"]
        standing = towers_of([block for block in blocks if block not in held], where)
        last = where if scene.before is None else under(scene.before)
        changed = frozenset(block for block in blocks if where[block] != last[block])
        costs = [int(scene.number(f"cost_{k}")) for k in range(count)]
        labels = {
            block: block + (f" ✗{costs[k]}" if costs[k] else "") for k, block in enumerate(blocks)
        }
        looks: dict[str, str] = {}
        for tower in standing:  # the goal is one tower of all blocks, the first at the bottom
            good = [
                block for k, block in enumerate(tower) if blocks[: k + 1] == list(tower[: k + 1])
            ]
            looks |= dict.fromkeys(good, "goal")
        floor, width = towers.height(standing), towers.width(standing)
        towers.draw(
            canvas, standing, left=0, table=floor, looks=looks, labels=labels, changed=changed
        )
        x = width / 2 - towers.wide / 2
        for block in held:
            towers.block(
                canvas, block, x, 0, "carrier", label=labels[block], changed=block in changed
            )
        towers.hand(canvas, x, 0, closed=bool(held))
        canvas.frame(0, -24, max(width, 190), floor + 26)
        canvas.note(
            f"{int(scene.number('table'))} on the table; green: in place; ✗: moves that failed"
        )

    return paint


__all__ = ["make"]
