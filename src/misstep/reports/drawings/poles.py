"""A pole on a cart, and a pendulum that stands: an angle that must stay small."""

from __future__ import annotations

from math import cos, sin

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject, Variable
from misstep.reports.drawings.variables import bar

LENGTH = 110.0
SCALE = 55.0  # units a metre of track
TRACK = 2.4
TIPPED_CART, TIPPED_ALONE = 0.20944, 0.785


def make(subject: Subject) -> Painter | None:
    if subject.has_variables("x", "v", "angle", "speed"):
        return _painter(subject, TIPPED_CART, has_cart=True)
    if subject.has_variables("angle", "speed") and len(subject.variables) <= 3:
        return _painter(subject, TIPPED_ALONE, has_cart=False)
    return None


def _painter(subject: Subject, tipped: float, *, has_cart: bool) -> Painter:
    half = TRACK * SCALE + 30 if has_cart else LENGTH

    near = {"x": TRACK, "v": 4.0, "angle": 1.5 * tipped, "speed": 4.0}  # the model's own are wide
    usual = [
        Variable(own.name, own.type, -near[own.name], near[own.name]) if own.name in near else own
        for own in subject.variables
    ]

    def paint(canvas: Canvas, scene: Scene) -> None:
        wide = max(half, 205)
        canvas.frame(-wide, -LENGTH - 20, 2 * wide, LENGTH + 66 + 22 * len(subject.variables))
        x = min(max(scene.number("x"), -TRACK - 0.4), TRACK + 0.4) * SCALE if has_cart else 0.0
        canvas.line((-half, 22), (half, 22), "strong")
        if has_cart:
            for end in (-TRACK, TRACK):
                canvas.line(
                    (end * SCALE, 6),
                    (end * SCALE, 30),
                    "bad-line",
                    title=f"the track ends at {end}",
                )
            canvas.rect(x - 24, 0, 48, 16, "carrier", title="cart")
            for wheel in (-14, 14):
                canvas.circle(x + wheel, 18, 4, "ink")
        else:
            canvas.rect(-16, 0, 32, 22, "box")
        for side in (-tipped, tipped):
            canvas.line((x, 0), _tip(x, side), "ghost", title="beyond this it has tipped")
        if scene.before is not None and (scene.changed("x") or scene.changed("angle")):
            start = scene.before.number("x") * SCALE if has_cart else 0.0
            canvas.line(
                (start, 0),
                _tip(start, scene.before.number("angle")),
                "changed-line",
                title="before",
            )
        angle = scene.number("angle")
        look = "bad-line" if abs(angle) > tipped else "thing-line"
        canvas.line((x, 0), _tip(x, angle), look, title=f"angle {angle:.4g}")
        canvas.circle(*_tip(x, angle), 6, look.replace("line", "full"))
        canvas.circle(x, 0, 4, "ink")
        for k, variable in enumerate(usual):
            bar(canvas, variable, scene, -200, 58 + 22 * k)

    return paint


def _tip(x: float, angle: float) -> tuple[float, float]:
    return x + LENGTH * sin(angle), -LENGTH * cos(angle)


__all__ = ["make"]
