"""The drawing of unknown models: their variables, each with a bar between its bounds."""

from __future__ import annotations

from math import inf

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject, Value, Variable

ROW = 22.0
NAME, BAR, VALUE = 130.0, 190.0, 90.0
ROWS = 24  # in a column
MOST = 120


def shown(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def bar(canvas: Canvas, variable: Variable, scene: Scene, x: float, y: float) -> None:
    """A row: the name, where the value lies, and the value."""
    value = scene.values.get(variable.name, "")
    changed = scene.changed(variable.name)
    canvas.text(x, y, variable.name, anchor="start", width=NAME - 8, bold=changed)
    left = x + NAME
    canvas.rect(
        left,
        y - 5,
        BAR,
        10,
        "box",
        radius=3,
        title=f"{variable.name} from {variable.low:g} to {variable.high:g}",
    )
    span = variable.high - variable.low
    if not isinstance(value, str) and 0 < span < inf:

        def at(number: float) -> float:
            return left + BAR * min(max((number - variable.low) / span, 0.0), 1.0)

        zero = at(min(max(0.0, variable.low), variable.high))
        here = at(float(value))
        canvas.rect(
            min(zero, here),
            y - 5,
            max(abs(here - zero), 2),
            10,
            "changed" if changed else "thing",
            radius=3,
        )
        if changed and scene.before is not None:
            was = at(scene.before.number(variable.name))
            canvas.line((was, y - 8), (was, y + 8), "changed-line", title="before")
    canvas.text(left + BAR + 8, y, shown(value), anchor="start", width=VALUE - 10, bold=changed)


def make(subject: Subject) -> Painter | None:
    if subject.world != "model":
        return None
    drawn = subject.variables[:MOST]
    rows = min(len(drawn), ROWS)
    columns = -(-len(drawn) // ROWS)

    def paint(canvas: Canvas, scene: Scene) -> None:
        width = NAME + BAR + VALUE
        canvas.frame(0, 0, max(columns, 1) * (width + 20) - 20, rows * ROW)
        for k, variable in enumerate(drawn):
            bar(canvas, variable, scene, (k // ROWS) * (width + 20), (k % ROWS) * ROW + ROW / 2)
        if len(drawn) < len(subject.variables):
            canvas.note(
                f"{len(subject.variables) - len(drawn)} of {len(subject.variables)} variables are left out"
            )

    return paint


__all__ = ["bar", "make", "shown"]
