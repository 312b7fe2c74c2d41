"""Follow car: two cars on a road, and the gap between them."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject, Variable
from misstep.reports.drawings.variables import bar

ROAD = 330.0
SHOWN = 120.0  # metres; a larger gap is drawn at the end of the road, with its length in words
CAR = 38.0


def make(subject: Subject) -> Painter | None:
    if not subject.has_variables("gap", "speed", "lead"):
        return None
    usual = [  # the bounds of the gap are wide
        Variable("gap", own.type, 0.0, SHOWN) if own.name == "gap" else own
        for own in subject.variables
    ]

    def paint(canvas: Canvas, scene: Scene) -> None:
        canvas.frame(0, -40, 420, 100 + 22 * len(subject.variables))
        canvas.rect(0, 0, 420, 30, "shade", radius=0)
        canvas.line((0, 15), (420, 15), "ghost")
        gap = scene.number("gap")
        ahead = CAR + min(max(gap, -20.0), SHOWN) / SHOWN * (ROAD - CAR)
        _car(canvas, 4, "bad" if gap <= 0 else "thing", scene.number("speed"), "us")
        _car(canvas, 4 + ahead, "carrier", scene.number("lead"), "in front")
        if scene.before is not None and scene.changed("gap"):
            was = CAR + min(max(scene.before.number("gap"), -20.0), SHOWN) / SHOWN * (ROAD - CAR)
            canvas.line((4 + was, 2), (4 + was, 28), "changed-line", title="before")
        if ahead > CAR + 4:
            canvas.line((4 + CAR, 40), (4 + ahead, 40), "strong")
            for end in (4 + CAR, 4 + ahead):
                canvas.line((end, 35), (end, 45), "strong")
        canvas.text(max(4 + (CAR + ahead) / 2, 70), 51, f"gap {gap:.4g} m", size=11)
        for k, variable in enumerate(usual):
            bar(canvas, variable, scene, 0, 74 + 22 * k)

    return paint


def _car(canvas: Canvas, x: float, look: str, speed: float, name: str) -> None:
    canvas.rect(x, 4, CAR, 20, "card", radius=6)
    canvas.rect(x, 4, CAR, 20, look, radius=6, title=f"{name}: {speed:.4g} m/s")
    canvas.rect(x + 20, 7, 8, 14, "box", radius=2)
    left = name == "us"
    at = x if left else x + CAR
    anchor = "start" if left else "end"
    canvas.text(at, -24, name, size=11, anchor=anchor, bold=True)
    canvas.text(at, -9, f"{speed:.3g} m/s", size=10, anchor=anchor)


__all__ = ["make"]
