"""Beluga: jigs go from the aircraft over a trailer, racks and a truck to the production lines."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

SLOT = 26.0
NAME = 64.0
ROW = 36.0


def make(subject: Subject) -> Painter | None:
    plane = subject.numbered("plane_")
    racks: list[list[str]] = []
    while subject.numbered(f"rack{len(racks)}_"):
        racks.append(subject.numbered(f"rack{len(racks)}_"))
    if not plane or not racks or not subject.has_variables("trailer", "truck", "next", "swaps"):
        return None
    none = len(plane)
    most = next(int(own.high) for own in subject.variables if own.name == "swaps")
    shelves = [
        ("aircraft", plane),
        ("trailer", ["trailer"]),
        *((f"rack {k}", rack) for k, rack in enumerate(racks)),
        ("truck", ["truck"]),
    ]
    lines = subject.numbered("line_")

    def paint(canvas: Canvas, scene: Scene) -> None:
        wide = NAME + len(plane) * (SLOT + 4)
        canvas.frame(0, 0, max(wide, 240), ROW * (len(shelves) + 1) + 4)
        wanted = int(scene.number("next"))
        for row, (name, slots) in enumerate(shelves):
            y = row * ROW + 4
            canvas.text(0, y + SLOT / 2, name, anchor="start", width=NAME - 6)
            for k, slot in enumerate(slots):
                jig = int(scene.number(slot))
                x = NAME + k * (SLOT + 4)
                look = "ghost" if jig == none else "goal" if jig == wanted else "thing"
                canvas.rect(
                    x, y, SLOT, SLOT, look, title=f"{slot}: {'none' if jig == none else jig}"
                )
                if scene.changed(slot):
                    canvas.rect(x - 2, y - 2, SLOT + 4, SLOT + 4, "changed-line")
                if jig != none:
                    canvas.text(x + SLOT / 2, y + SLOT / 2, str(jig), bold=True)
        y = len(shelves) * ROW + 12
        said = (
            "all jigs are delivered" if wanted == none else f"jig {wanted} is wanted next (green)"
        )
        done = ", ".join(f"line {k} has {int(scene.number(line))}" for k, line in enumerate(lines))
        canvas.text(0, y, said, anchor="start", bold=scene.changed("next"))
        canvas.text(
            0,
            y + 20,
            f"{done}; {int(scene.number('swaps'))} of {most} swaps",
            size=11,
            anchor="start",
        )

    return paint


__all__ = ["make"]
