"""A drawing of the states of one task, and the plug-ins that make drawings.

A plug-in is a function that looks at the subject and returns a painter for it, or None if it does not know the domain.
The painter is called with an empty canvas and a scene for each state; the plug-in computes the layout beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from misstep.raised import in_words
from misstep.reports.drawings.canvas import Canvas, plain
from misstep.reports.drawings.subject import Scene, StateLike, Subject, nature_of, scene_of
from misstep.tasks.load import AnyTask

Painter = Callable[[Canvas, Scene], None]
PlugIn = Callable[[Subject], Painter | None]

MOST_DESCRIBED = 40


class UnknownDomainError(Exception):
    """A plug-in raises this if it finds out late that a task is not from its domain."""


MOST_NAMED = 6


@dataclass(frozen=True)
class Drawing:
    """Draws the states of one task. Made by `drawing_for`."""

    name: str  # of the plug-in
    task: AnyTask
    subject: Subject
    paint: Painter
    plain: Painter  # what is drawn where a plug-in fails
    remark: str = ""  # a plug-in that failed when it was asked

    def svg(self, state: StateLike, before: StateLike | None = None) -> str:
        """A picture of a state, given as its facts or its values; differences from `before` are highlighted."""
        scene = scene_of(self.subject, self.task, state, before)
        canvas = self._canvas(self.name, scene)
        if self.remark:
            canvas.note(self.remark)
        try:
            self.paint(canvas, scene)
            self._say_missing(canvas)
            self._say_nature(canvas, scene)
            return canvas.svg()
        except Exception as error:
            # A report must not fail because of a plug-in or an odd state.
            canvas = self._canvas("plain", scene)
            canvas.note(f"the drawing {self.name} failed: {in_words(error)}")
            self.plain(canvas, scene)
            self._say_missing(canvas)
            return canvas.svg()

    def _say_missing(self, canvas: Canvas) -> None:
        """List the objects that the painter has left out."""
        missing = canvas.missing(self.subject.objects)
        if missing:
            more = len(missing) - MOST_NAMED
            rest = f" and {more} more" if more > 0 else ""
            canvas.note(
                "not drawn: " + ", ".join(plain(name, 30) for name in missing[:MOST_NAMED]) + rest
            )

    def _say_nature(self, canvas: Canvas, scene: Scene) -> None:
        nature = nature_of(self.subject, scene)
        if nature:
            look = {"unsafe": "bad-full", "a goal": "goal-full"}.get(nature, "faint")
            canvas.note(f"this state: {nature}", look)

    def _canvas(self, name: str, scene: Scene) -> Canvas:
        words = [f"{own}={value}" for own, value in scene.values.items()]
        words += [
            f"{atom[0]}({', '.join(atom[1:])})"
            for atom in sorted(scene.atoms - self.subject.static)
        ]
        said = ", ".join(words[:MOST_DESCRIBED])
        if len(words) > MOST_DESCRIBED:
            said += f" and {len(words) - MOST_DESCRIBED} more"
        return Canvas(f"{name}: a state of {self.subject.name}", said)


__all__ = ["Drawing", "Painter", "PlugIn", "UnknownDomainError"]
