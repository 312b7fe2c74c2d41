"""The bouncing ball: its height and speed, and the band where it can be pushed."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject, Variable
from misstep.reports.drawings.variables import bar

METRE = 16.0
SHOWN = 12.0  # metres; a higher ball is drawn at the top, with its height in words
BAND = (5.0, 9.0)


def make(subject: Subject) -> Painter | None:
    names = {variable.name for variable in subject.variables}
    if not names <= {"h", "v", "t"} or not {"h", "v"} <= names:
        return None
    # The bounds of the model are wide; within these the ball stays.
    near = {"h": (0.0, SHOWN), "v": (-15.0, 15.0)}
    usual = [
        Variable(own.name, own.type, *near.get(own.name, (own.low, own.high)))
        for own in subject.variables
    ]

    def paint(canvas: Canvas, scene: Scene) -> None:
        canvas.frame(
            -30, -SHOWN * METRE - 16, 410, SHOWN * METRE + 34 + 22 * len(subject.variables)
        )
        low, high = (-height * METRE for height in BAND)
        canvas.rect(
            0, high, 340, low - high, "shade", radius=0, title="where the ball can be pushed"
        )
        canvas.text(334, high + 9, "can be pushed", size=10, anchor="end", look="faint")
        canvas.line((0, 0), (340, 0), "strong")
        for height in (0, 5, 9, 12):
            canvas.text(-6, -height * METRE, f"{height} m", size=9, anchor="end", look="faint")
        if scene.before is not None and scene.changed("h"):
            canvas.circle(170, -_shown(scene.before) * METRE - 9, 9, "changed-line", title="before")
        y = -_shown(scene) * METRE - 9
        canvas.circle(170, y, 9, "thing-full", title=f"height {scene.number('h'):.4g}")
        speed = min(max(scene.number("v") * 4, -60), 60)
        if abs(speed) > 2:
            way = -1 if speed > 0 else 1
            end = y - speed
            canvas.line(
                (194, y), (194, end), "carrier-line", title=f"speed {scene.number('v'):.4g}"
            )
            canvas.path([(189, end - way * 6), (194, end), (199, end - way * 6)], "carrier-line")
        canvas.text(206, y, f"{scene.number('v'):+.3g} m/s", size=11, anchor="start")
        for k, variable in enumerate(usual):
            bar(canvas, variable, scene, -30, 30 + 22 * k)

    return paint


def _shown(scene: Scene) -> float:
    return min(max(scene.number("h"), 0.0), SHOWN - 0.6)


__all__ = ["make"]
