"""Towers of blocks: what blocks worlds of both kinds of tasks draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from misstep.reports.drawings.canvas import Canvas, width_of

HIGH = 30.0
FIXED = (
    12  # so many blocks have a column each; more are packed, and then towers may move along a run
)


def towers_of(blocks: Sequence[str], under: Mapping[str, str]) -> list[list[str]]:
    """From the bottom up; `under` says what a block lies on. Blocks in a circle, which no state has, stand alone."""
    over: dict[str, str] = {}
    for block, below in under.items():
        over.setdefault(below, block)
    found, seen = [], set()
    for block in blocks:
        if under.get(block) in blocks:
            continue
        tower = [block]
        while over.get(tower[-1]) is not None and over[tower[-1]] not in tower:
            tower.append(over[tower[-1]])
        seen |= set(tower)
        found.append(tower)
    return found + [[block] for block in blocks if block not in seen]


class Towers:
    """Draws towers over a table line, in columns that stay where they are."""

    def __init__(self, blocks: Sequence[str], extra: float = 0) -> None:
        """`extra` is what labels need beside the name."""
        self.blocks = list(blocks)
        self.wide = min(max([34.0, *(width_of(name, 12) + 12 + extra for name in blocks)]), 90.0)
        self.column = self.wide + 12
        self.place = {name: k for k, name in enumerate(self.blocks)}

    @property
    def is_fixed(self) -> bool:
        return len(self.blocks) <= FIXED

    def height(self, towers: Sequence[Sequence[str]]) -> float:
        rows = len(self.blocks) if self.is_fixed else max(map(len, towers), default=0)
        return (rows + 2) * HIGH

    def width(self, towers: Sequence[Sequence[str]], packed: bool = False) -> float:
        count = len(towers) if packed or not self.is_fixed else len(self.blocks)
        return max(count, 2) * self.column

    def draw(
        self,
        canvas: Canvas,
        towers: Sequence[Sequence[str]],
        *,
        left: float,
        table: float,
        looks: Mapping[str, str],
        labels: Mapping[str, str] | None = None,
        changed: frozenset[str] = frozenset(),
        packed: bool = False,
    ) -> None:
        width = self.width(towers, packed)
        canvas.line((left, table), (left + width, table), "strong")
        for k, tower in enumerate(towers):
            column = k if packed or not self.is_fixed else self.place[tower[0]]
            x = left + column * self.column + 6
            for level, block in enumerate(tower):
                self.block(
                    canvas, block, x, table - (level + 1) * HIGH - 1, looks.get(block, "thing"),
                    label=(labels or {}).get(block, block), changed=block in changed,
                )  # fmt: skip

    def block(
        self,
        canvas: Canvas,
        name: str,
        x: float,
        y: float,
        look: str,
        *,
        label: str = "",
        changed: bool = False,
    ) -> None:
        canvas.rect(x, y, self.wide, HIGH - 2, look, radius=3, title=name)
        if changed:
            canvas.rect(x + 2, y + 2, self.wide - 4, HIGH - 6, "changed-line", radius=2)
        canvas.text(x + self.wide / 2, y + HIGH / 2 - 1, label or name, width=self.wide - 8)

    def hand(self, canvas: Canvas, x: float, y: float, *, closed: bool) -> None:
        """Fingers above a block at that corner."""
        wide, spread = self.wide, 3 if closed else 9
        middle = x + wide / 2
        canvas.line((middle, y - 22), (middle, y - 10), "strong")
        canvas.path(
            [
                (x - spread, y + 10),
                (x - spread, y - 10),
                (x + wide + spread, y - 10),
                (x + wide + spread, y + 10),
            ],
            "strong",
        )


__all__ = ["HIGH", "Towers", "towers_of"]
