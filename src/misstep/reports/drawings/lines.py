"""The one-way and the two-way line: a truck with a speed, packages along the way, a cliff at the end."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

CELL = 56.0
ROAD = 92.0
PACK = 13.0
PER_ROW = 25  # cells side by side


def make(subject: Subject) -> Painter | None:
    loads = subject.numbered("load_")
    if not loads or not subject.has_variables("pos", "cargo", "vel", "crash"):
        return None
    two_way = any(own.name == "vel" and own.low < 0 for own in subject.variables)
    columns = min(len(loads), PER_ROW)
    rows = -(-len(loads) // PER_ROW)

    def corner(cell: int) -> tuple[float, float]:
        return (cell % PER_ROW) * CELL, (cell // PER_ROW) * (ROAD + 44)

    def paint(canvas: Canvas, scene: Scene) -> None:
        canvas.frame(-CELL, 0, (columns + 2) * CELL, rows * (ROAD + 44) - 14)
        for cell, load in enumerate(loads):
            _cell(canvas, scene, load, cell, corner(cell), is_last=cell == len(loads) - 1)
        x, y = corner(len(loads) - 1)
        _cliff(canvas, x + CELL, y + ROAD, right=True)
        if two_way:
            _cliff(canvas, 0, ROAD, right=False)
        pos, speed = int(scene.number("pos")), int(scene.number("vel"))
        x, y = corner(min(max(pos, 0), len(loads) - 1))
        if scene.number("crash"):
            x += -CELL * 0.95 if speed < 0 else CELL * 0.95
        _truck(canvas, scene, x, y, speed)

    return paint


def _cell(
    canvas: Canvas,
    scene: Scene,
    load: str,
    cell: int,
    corner: tuple[float, float],
    *,
    is_last: bool,
) -> None:
    x, y = corner
    canvas.rect(x, y + ROAD, CELL, 10, "goal" if is_last else "box", radius=0, title=load)
    canvas.text(x + CELL / 2, y + ROAD + 20, "end" if is_last else str(cell), size=10, look="faint")
    count = int(scene.number(load))
    for k in range(min(count, 6)):
        left, low = x + 6 + (k % 3) * (PACK + 2), y + 2 + (1 - k // 3) * (PACK + 2)
        canvas.rect(left, low, PACK, PACK, "goal" if is_last else "thing", radius=2)
    if count > 6:
        canvas.text(x + CELL - 2, y + PACK * 2 - 4, f"+{count - 6}", size=10, anchor="end")
    if scene.changed(load):
        canvas.rect(x + 2, y - 1, CELL - 6, PACK * 2 + 7, "changed-line")


def _cliff(canvas: Canvas, x: float, y: float, *, right: bool) -> None:
    way = 1 if right else -1
    canvas.path([(x, y), (x + way * 10, y + 14), (x + way * 5, y + 24)], "bad-line")
    canvas.text(
        x + way * 14, y + 8, "cliff", size=9, anchor="start" if right else "end", look="bad-full"
    )


def _truck(canvas: Canvas, scene: Scene, x: float, y: float, speed: int) -> None:
    low = y + ROAD
    moved = scene.changed("pos") or scene.changed("vel") or scene.changed("cargo")
    look = "bad" if scene.number("crash") else "carrier"
    back = speed < 0
    body, cab = (x + 18, x + 5) if back else (x + 5, x + 39)
    canvas.rect(
        body,
        low - 30,
        33,
        22,
        look,
        radius=2,
        title=f"truck with {int(scene.number('cargo'))} packages",
    )
    canvas.rect(cab, low - 23, 12, 15, look, radius=2)
    if moved:
        canvas.rect(x + 2, low - 33, CELL - 4, 29, "changed-line", radius=4)
    for wheel in (x + 15, x + 41):
        canvas.circle(wheel, low - 5, 5, "ink")
    canvas.text(body + 16.5, low - 19, str(int(scene.number("cargo"))), size=12, bold=True)
    canvas.text(x + CELL / 2, low - 50, _speed(speed), size=11, width=CELL + 20)


def _speed(speed: int) -> str:
    arrows = "→" * min(speed, 4) if speed > 0 else "←" * min(-speed, 4)
    return f"{arrows} {abs(speed)}" if speed else "standing"


__all__ = ["make"]
